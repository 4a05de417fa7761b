enum TestSupportStub {}
