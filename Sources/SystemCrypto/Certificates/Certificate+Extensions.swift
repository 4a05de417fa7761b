internal import SecureBytes

extension Certificate {
    /// The value of an extension; nil for an absent one.
    public func extensionValue(_ identifier: OID) -> [UInt8]? {
        extensions.first { $0.identifier == identifier }?.value
    }

    /// The most specific common name of the subject.
    public var commonName: String? { subject.commonName }

    /// The last common name of the subject, read without the rest of the certificate, for scans of thousands of certificates.
    ///
    /// - Throws: `malformed` where no subject can be read. Bytes with a subject may still be no certificate.
    public static func commonName(inDER der: [UInt8]) throws(CryptoError) -> String? {
        try DistinguishedName.commonName(in: CertificateFields.subject(of: der))
    }

    /// The subject's alternative names; none where the extension is unreadable.
    public var subjectAlternativeNames: [GeneralName] {
        extensionValue(.subjectAlternativeName).flatMap { try? GeneralName.parse($0) } ?? []
    }

    /// The e-mail addresses among the alternative names, then those of the subject, each once.
    public var emailAddresses: [String] {
        let alternative = subjectAlternativeNames.compactMap { name -> String? in
            if case .email(let address) = name { address } else { nil }
        }
        return alternative + subject.emailAddresses.filter { !alternative.contains($0) }
    }

    /// The user principal names among the alternative names, by which Windows and Kerberos know a person.
    public var userPrincipalNames: [String] {
        subjectAlternativeNames.compactMap { name in
            guard case .otherName(.userPrincipalName, let value) = name else { return nil }
            var reader = TLVReader(value, .der)
            guard let text = try? reader.read(DER.Tag.utf8String), reader.isAtEnd else { return nil }
            return DisplayText.escaped(String(decoding: text.content, as: UTF8.self))
        }
    }

    /// The uses of the key; nil where the certificate does not limit them.
    public var keyUsage: KeyUsage? {
        extensionValue(.keyUsage).flatMap { try? KeyUsage(parsing: $0) }
    }

    /// The purposes of the certificate; nil where it does not limit them.
    public var extendedKeyUsage: [OID]? {
        guard let value = extensionValue(.extendedKeyUsage) else { return nil }
        var outer = TLVReader(value, .der)
        guard var list = try? outer.read(DER.Tag.sequence).reader else { return [] }
        var purposes: [OID] = []
        while let element = try? list.read(DER.Tag.objectIdentifier) {
            purposes.append(OID(content: element.value))
        }
        return purposes
    }

    /// The issuer's identifier for the key.
    public var subjectKeyIdentifier: [UInt8]? {
        guard let value = extensionValue(.subjectKeyIdentifier) else { return nil }
        var reader = TLVReader(value, .der)
        return (try? reader.read(DER.Tag.octetString)).map { Array($0.content) }
    }

    /// Whether the certificate may issue others, by its basic constraints.
    public var isCA: Bool {
        guard let value = extensionValue(.basicConstraints) else { return false }
        var outer = TLVReader(value, .der)
        guard var fields = try? outer.read(DER.Tag.sequence).reader else { return false }
        return (try? fields.read(DER.Tag.boolean)).map { $0.content.first != 0 } ?? false
    }

    /// Start of the validity as ISO 8601.
    public var notBeforeText: String { CertificateTime.iso8601(notBefore) }

    /// End of the validity as ISO 8601.
    public var notAfterText: String { CertificateTime.iso8601(notAfter) }

    /// Whether a time, in seconds since 1970, is within the validity.
    public func isValid(at time: Int64) -> Bool {
        notBefore <= time && time <= notAfter
    }

    /// Whether the certificate is for a host, given by name or IP address, by its alternative names (RFC 6125 §6.4).
    public func isFor(host: String) -> Bool {
        let address = HostName.octets(ofAddress: host)
        return subjectAlternativeNames.contains { name in
            switch name {
            case .dns(let pattern): address == nil && HostName.matches(host, pattern)
            // iPAddress, RFC 5280 §4.2.1.6
            case .other(tag: 0x87, let content): content == address
            default: false
            }
        }
    }

    /// Whether the certificate is for an e-mail address, regardless of letter case.
    public func isFor(email: String) -> Bool {
        emailAddresses.contains { $0.lowercased() == email.lowercased() }
    }
}
