internal import Localization

extension ItemClass {
    /// The reason why the secret of an item with these attributes may not be read out unencrypted; nil if it may.
    package func refusalToLeave(_ attributes: Attributes) -> KeychainError? {
        let name = attributes[.label]?.string.flatMap { $0.isEmpty ? nil : " '\($0)'" } ?? ""
        if attributes[.isExtractable]?.isTrue == false {
            return KeychainError(
                .dataNotAvailable, "the \(noun)\(name) cannot be read out", remedy: "use it where it is")
        }
        guard self == .key, attributes[.isSensitive]?.isTrue == true else { return nil }
        return KeychainError(
            .keyIsSensitive, "the key\(name) leaves its keychain only encrypted", remedy: "export it")
    }
}
