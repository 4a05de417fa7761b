extension Attribute {
    /// What the attribute holds; nil if no class has one of this code.
    public var type: AttributeType? { Self.types[self] }

    private static let types: [Attribute: AttributeType] = {
        let strings: [Attribute] = [
            .label, .accessGroup, .accessible, .tokenID, .account, .service, .itemDescription, .comment,
        ]
        let data: [Attribute] = [
            .alias, .isProtected, .generic, .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash,
            .applicationLabel, .applicationTag,
        ]
        let numbers: [Attribute] = [
            .synchronizable, .creator, .type, .scriptCode, .certificateType, .certificateEncoding, .keyClass,
            .keySizeInBits, .effectiveKeySize,
        ]
        let dates: [Attribute] = [.creationDate, .modificationDate, .startDate, .endDate]
        let flags: [Attribute] = [.isInvisible, .isNegative, .hasCustomIcon] + keyFlags
        let rows = [
            (strings, AttributeType.string), (data, .data), (numbers, .number), (dates, .date), (flags, .boolean),
        ]
        let pairs = rows.flatMap { names, type in names.map { ($0, type) } }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()

    fileprivate static let keyFlags: [Attribute] = [
        .isPermanent, .isPrivate, .isModifiable, .isSensitive, .wasAlwaysSensitive, .isExtractable,
        .wasNeverExtractable, .canEncrypt, .canDecrypt, .canDerive, .canSign, .canVerify, .canSignRecover,
        .canVerifyRecover, .canWrap, .canUnwrap,
    ]
}

/// Keychain semantics 1.2 and 1.3: the attributes each class has, and which of them make an item unique.
extension ItemClass {
    /// The attributes an item of the class can have; for an identity those of certificates and of keys.
    public var attributes: [Attribute] { Self.attributeLists[self] ?? [] }

    /// Whether items of the class have this attribute.
    public func has(_ attribute: Attribute) -> Bool {
        Self.attributeSets[self]?.contains(attribute) ?? false
    }

    /// The attributes no two items of a keychain may share; an absent one counts as empty or 0.
    ///
    /// The token id completes the set across keychains: the same certificate on a card and in a file is two items.
    public var uniqueAttributes: [Attribute] {
        let common: [Attribute] = [.accessGroup, .synchronizable]
        switch self {
        case .genericPassword: return [.account, .service] + common
        case .certificate, .identity: return [.certificateType, .issuer, .serialNumber] + common
        case .key:
            return [
                .keyClass, .applicationLabel, .applicationTag, .creator, .keyType, .keySizeInBits, .effectiveKeySize,
                .startDate, .endDate,
            ] + common
        }
    }

    private static let attributeLists: [ItemClass: [Attribute]] = {
        let common: [Attribute] = [
            .creationDate, .modificationDate, .label, .accessGroup, .accessible, .synchronizable, .tokenID, .alias,
        ]
        let password: [Attribute] = [
            .account, .service, .itemDescription, .comment, .creator, .type, .scriptCode, .isInvisible, .isNegative,
            .hasCustomIcon, .isProtected, .generic,
        ]
        let certificate: [Attribute] = [
            .certificateType, .issuer, .serialNumber, .certificateEncoding, .subject, .subjectKeyID, .publicKeyHash,
        ]
        let key: [Attribute] =
            [
                .keyClass, .applicationLabel, .applicationTag, .creator, .keyType, .keySizeInBits, .effectiveKeySize,
                .startDate, .endDate,
            ] + Attribute.keyFlags
        return [
            .genericPassword: common + password, .certificate: common + certificate, .key: common + key,
            .identity: common + certificate + key,
        ]
    }()

    private static let attributeSets = attributeLists.mapValues(Set.init)
}

extension ItemClass {
    /// The attributes as items of the class hold them, each converted to its type, names normalised.
    ///
    /// - Throws: `errSecParam` for a code no class has or a value of the wrong kind, `errSecNoSuchAttr` for a code
    ///   that only other classes have; the error names the attribute.
    func checked(_ attributes: Attributes) throws(KeychainError) -> Attributes {
        var result: Attributes = [:]
        for (attribute, value) in attributes {
            result[attribute] = try checked(value, for: attribute)
        }
        return result
    }

    private func checked(_ value: AttributeValue, for attribute: Attribute) throws(KeychainError) -> AttributeValue {
        guard let type = attribute.type else {
            throw KeychainError(.param, "there is no attribute \(attribute)", key: attribute.rawValue)
        }
        guard has(attribute) else {
            throw KeychainError(
                .noSuchAttribute, "items of class \(rawValue) have no attribute \(attribute)", key: attribute.rawValue)
        }
        guard let converted = value.converted(to: type) else {
            throw KeychainError(
                .param, "the value of attribute \(attribute) is not a \(type)", key: attribute.rawValue)
        }
        guard attribute == .subject || attribute == .issuer, let name = converted.bytes else { return converted }
        return .data(NormalizedName.content(of: name) ?? name)
    }
}
