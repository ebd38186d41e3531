// Package lookback re-decides what was decided and tells what comes out differently, by check and direction. It reads records
// of decision logs; it changes nothing and answers nobody.
package lookback
