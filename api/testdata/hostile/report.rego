package acme.report

# METADATA
# entrypoint: true
size := input.engine.parallel.tensor

# METADATA
# entrypoint: true
sometimes if input.engine.id == "loud"
