// Apple's name of a module, so that `#if canImport(CryptoTokenKit)` takes the same branch here.

@_exported public import SecItem
