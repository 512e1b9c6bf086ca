def pytest_configure(config):
    config.addinivalue_line("markers", "timing: measures time, so that nothing else may run beside it")
