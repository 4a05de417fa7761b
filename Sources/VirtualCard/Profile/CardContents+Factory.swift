internal import SecureBytes

/// The content of a card that was never written to.
extension CardContents {
    static func factory(_ profile: CardProfile, serialNumber: UInt32) -> CardContents {
        var contents = CardContents()
        contents.serialNumber = serialNumber
        contents.references[profile.pinReference] = .factory(.application, limit: profile.tries)
        contents.references[.unblocking] = .factory(.unblocking, limit: profile.tries)
        if !profile.has(.noManagementKey) { contents.managementKey = .factory(profile.managementAlgorithm) }
        if profile.hasDiscovery {
            contents.objects[DataObject.discovery] = DataObject.discovery(policy: [0x40, 0x00])
        }
        return contents
    }
}

extension ReferenceData {
    static func factory(_ reference: PINReference, limit: UInt8) -> ReferenceData {
        ReferenceData(reference == .unblocking ? defaultPUK : defaultPIN, limit: limit)
    }
}

extension ManagementKey {
    static func factory(_ algorithm: CardAlgorithm) -> ManagementKey {
        let length = algorithm.cipherKeyLength ?? defaultValue.count
        let value = (defaultValue + defaultValue).prefix(length)
        return ManagementKey(algorithm: algorithm, value: CardSecret(Array(value)))
    }
}

extension DataObject {
    /// The discovery object: the application identifier and the PIN usage policy. SP 800-73-5 part 1 §3.3.2.
    static func discovery(policy: [UInt8]) -> [UInt8] {
        TLV(0x4F, PIVApplet.identifier).encoded() + TLV(0x5F2F, policy).encoded()
    }
}
