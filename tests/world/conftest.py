from tests.ros.conftest import domain, graph, until  # noqa: F401 - fixtures
