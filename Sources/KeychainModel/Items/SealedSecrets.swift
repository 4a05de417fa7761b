/// The new secrets of items with an application password, each sealed under its item's password.
///
/// They are sealed before the transaction of the change begins, since prompts and key derivation take long.
public struct SealedSecrets: Sendable {
    package var byItem: [UniqueID: [UInt8]] = [:]

    public init() {}
}
