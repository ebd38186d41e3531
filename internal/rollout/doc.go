// Package rollout brings policies into force: it knows where they come from (directories, bundles and URLs of bundles), notices
// when their content changed, tries a change before anybody is judged by it, and says how that went. It owns when an engine
// swaps. It must not judge launches for anybody else, nor know how its status is shown.
package rollout
