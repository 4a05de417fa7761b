enum VirtualCardStub {}
