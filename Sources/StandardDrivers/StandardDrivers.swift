package import KeychainHost
internal import PIVDriver
package import TokenKit

/// The drivers of cards that this package has. No other place names one: a driver that is added here is used by the command, the
/// libraries and the host alike.
package enum StandardDrivers {
    /// In the order in which they are asked whether they know a card.
    package static func all(_ caches: TokenCaches) -> [any TokenDriver] {
        [
            PIVDriver(
                memory: caches.tokens, certificates: caches.certificates, rejectedPINs: caches.rejectedPINs,
                provesBeforePIN: caches.provesBeforePIN)
        ]
    }
}
