enum SystemCryptoStub {}
