internal import TokenKit

/// SET MANAGEMENT KEY, SET PIN RETRIES, RESET and MOVE KEY of Yubico's extension.
extension PIVApplet {
    /// Data: algorithm, `9B`, length, key. P2 `FE` asks for a touch at each use, `FD` for one in 15 seconds.
    mutating func setManagementKey(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let policy: CardKey.TouchPolicy? =
            switch command.p2 {
            case 0xFF: .never
            case 0xFE: .always
            case 0xFD: .cached
            default: nil
            }
        guard command.p1 == 0xFF, let policy else { throw Refusal(.incorrectParameters) }
        try requireManagement()
        let data = command.data
        guard data.count > 3, data[1] == CardKeyReference.management.rawValue, Int(data[2]) == data.count - 3,
            let algorithm = profile.algorithm(data[0]), algorithm.cipherKeyLength == data.count - 3
        else { throw Refusal(.incorrectData) }
        contents.managementKey = ManagementKey(
            algorithm: algorithm, value: CardSecret(Array(data.dropFirst(3))), touchPolicy: policy)
        return .success()
    }

    /// Sets the numbers of tries, which also resets PIN and PUK to their factory values.
    mutating func setRetries(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        guard command.p1 > 0, command.p2 > 0 else { throw Refusal(.incorrectParameters) }
        guard session.isManagementAuthenticated, isPINVerified else { throw Refusal(.securityStatusNotSatisfied) }
        contents.references[.application] = .factory(.application, limit: command.p1)
        contents.references[.unblocking] = .factory(.unblocking, limit: command.p2)
        session.verified = []
        session.pinIsFresh = false
        return .success()
    }

    /// Empties the application, without proof, once its PIN and PUK are blocked.
    mutating func resetApplication() throws(Refusal) -> ResponseAPDU {
        let blocked = [PINReference.application, .unblocking].allSatisfy { contents.references[$0]?.remaining == 0 }
        guard blocked else { throw Refusal(.conditionsNotSatisfied) }
        var fresh = CardContents.factory(profile, serialNumber: contents.serialNumber)
        // The attestation key belongs to the device, not to its owner.
        fresh.keys[.attestation] = contents.keys[.attestation]
        fresh.objects[DataObject.attestationCertificate] = contents.objects[DataObject.attestationCertificate]
        contents = fresh
        session.deselect()
        session.application = .piv
        return .success()
    }

    /// P1 is the new place of the key, or `FF` to delete it; P2 is its present place.
    mutating func moveKey(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let source = CardKeyReference(rawValue: command.p2)
        let target = command.p1 == 0xFF ? nil : CardKeyReference(rawValue: command.p1)
        guard profile.keyReferences.contains(source), target.map(profile.keyReferences.contains) ?? true,
            target == nil || (source != .attestation && target != .attestation && target != source)
        else { throw Refusal(.incorrectParameters) }
        try requireManagement()
        guard let key = contents.keys[source] else { throw Refusal(.referenceNotFound) }
        contents.keys[source] = nil
        if let target { contents.keys[target] = key }
        return .success()
    }
}
