"""The REST interface: FastAPI, OpenAPI at `/openapi.json`, documentation at `/docs`."""
