enum KeychainHostStub {}
