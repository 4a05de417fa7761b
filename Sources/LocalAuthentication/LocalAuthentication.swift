// Apple's name of a module, so that `#if canImport(LocalAuthentication)` takes the same branch here.

@_exported public import SecItem
