// Apple's name of a module, so that `#if canImport(CryptoTokenKit)` takes the same branch here. Apple's brings Foundation along.

@_exported public import Foundation
@_exported public import SecItem
