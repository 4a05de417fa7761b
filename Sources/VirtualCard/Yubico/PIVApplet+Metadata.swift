internal import SecureBytes
internal import TokenKit

/// GET VERSION, GET SERIAL and GET METADATA of Yubico's extension.
extension PIVApplet {
    func version() -> ResponseAPDU {
        guard let firmware = profile.firmware else { return ResponseAPDU(status: .instructionNotSupported) }
        return .success(firmware.bytes)
    }

    func serialNumber() -> ResponseAPDU {
        .success(contents.serialNumber.bigEndianBytes)
    }

    func metadata(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        guard command.p1 == 0x00 else { throw Refusal(.incorrectParameters) }
        if let reference = PINReference(rawValue: command.p2), reference != .global {
            return try metadata(of: reference)
        }
        let reference = CardKeyReference(rawValue: command.p2)
        if reference == .management { return try managementMetadata() }
        guard profile.keyReferences.contains(reference) else {
            // PivApplet's answer, and that of a YubiKey.
            throw Refusal(profile.has(.emptySlotsTellPolicies) ? .incorrectParameters : .referenceNotFound)
        }
        guard let key = contents.keys[reference] else {
            guard profile.has(.emptySlotsTellPolicies) else { throw Refusal(.referenceNotFound) }
            let policy = CardKey.PINPolicy.standard(for: reference)
            return answer([TLV(0x02, [policy.rawValue, CardKey.TouchPolicy.never.rawValue]), TLV(0x03, [0x00])])
        }
        return answer([
            TLV(0x01, [key.algorithm.rawValue]), TLV(0x02, [key.pinPolicy.rawValue, key.touchPolicy.rawValue]),
            TLV(0x03, [key.origin.rawValue]), TLV(0x04, key.publicTemplate),
        ])
    }

    private func metadata(of reference: PINReference) throws(Refusal) -> ResponseAPDU {
        guard let data = contents.references[reference] else { throw Refusal(.referenceNotFound) }
        let isDefault = data.value == ReferenceData.factory(reference, limit: data.limit).value
        let algorithm = profile.has(.pinMetadataWithoutAlgorithm) ? [] : [TLV(0x01, [0xFF])]
        return answer(algorithm + [TLV(0x05, [isDefault ? 1 : 0]), TLV(0x06, [data.limit, data.remaining])])
    }

    private func managementMetadata() throws(Refusal) -> ResponseAPDU {
        guard let key = contents.managementKey else { throw Refusal(.referenceNotFound) }
        let isDefault = key.value.matches(ManagementKey.defaultValue)
        return answer([
            TLV(0x01, [key.algorithm.rawValue]), TLV(0x02, [0x00, key.touchPolicy.rawValue]),
            TLV(0x05, [isDefault ? 1 : 0]),
        ])
    }

    private func answer(_ fields: [TLV]) -> ResponseAPDU {
        .success(fields.flatMap { $0.encoded() })
    }
}
