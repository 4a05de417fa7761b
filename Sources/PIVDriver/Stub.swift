enum PIVDriverStub {}
