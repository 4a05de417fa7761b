package import KeychainHost
internal import PIVDriver
package import TokenKit

/// The card drivers of this package. No other place names one, so that the command, the libraries and the host all use a driver
/// that is added here.
package enum StandardDrivers {
    /// All drivers, in the order in which they are asked whether they know a card.
    package static func all(_ caches: TokenCaches) -> [any TokenDriver] {
        [
            PIVDriver(
                memory: caches.tokens, certificates: caches.certificates, rejectedPINs: caches.rejectedPINs,
                provesBeforePIN: caches.provesBeforePIN)
        ]
    }
}
