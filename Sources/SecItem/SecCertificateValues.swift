public import Foundation
internal import SystemCrypto

// The fields of a certificate as properties. SecCertificateOIDs.h, SecTrust.h.

public let kSecPropertyKeyType: CFString = "type"
public let kSecPropertyKeyLabel: CFString = "label"
public let kSecPropertyKeyLocalizedLabel: CFString = "localized label"
public let kSecPropertyKeyValue: CFString = "value"
public let kSecPropertyTypeSection: CFString = "section"
public let kSecPropertyTypeData: CFString = "data"
public let kSecPropertyTypeString: CFString = "string"
public let kSecPropertyTypeURL: CFString = "url"
public let kSecPropertyTypeDate: CFString = "date"
public let kSecPropertyTypeArray: CFString = "array"
public let kSecPropertyTypeNumber: CFString = "number"

public let kSecOIDX509V1Version: CFString = "2.16.840.1.113741.2.1.1.1.2"
public let kSecOIDX509V1SerialNumber: CFString = "2.16.840.1.113741.2.1.1.1.3"
public let kSecOIDX509V1IssuerName: CFString = "2.16.840.1.113741.2.1.1.1.5"
public let kSecOIDX509V1ValidityNotBefore: CFString = "2.16.840.1.113741.2.1.1.1.6"
public let kSecOIDX509V1ValidityNotAfter: CFString = "2.16.840.1.113741.2.1.1.1.7"
public let kSecOIDX509V1SubjectName: CFString = "2.16.840.1.113741.2.1.1.1.8"
public let kSecOIDX509V1SubjectPublicKey: CFString = "2.16.840.1.113741.2.1.1.1.10"
public let kSecOIDSubjectKeyIdentifier: CFString = "2.5.29.14"
public let kSecOIDKeyUsage: CFString = "2.5.29.15"
public let kSecOIDSubjectAltName: CFString = "2.5.29.17"
public let kSecOIDBasicConstraints: CFString = "2.5.29.19"
public let kSecOIDExtendedKeyUsage: CFString = "2.5.29.37"
public let kSecOIDCommonName: CFString = "2.5.4.3"
public let kSecOIDCountryName: CFString = "2.5.4.6"
public let kSecOIDLocalityName: CFString = "2.5.4.7"
public let kSecOIDStateProvinceName: CFString = "2.5.4.8"
public let kSecOIDOrganizationName: CFString = "2.5.4.10"
public let kSecOIDOrganizationalUnitName: CFString = "2.5.4.11"
public let kSecOIDEmailAddress: CFString = "1.2.840.113549.1.9.1"

/// The fields of a certificate by their object identifiers, each a dictionary of its type, label and value.
///
/// Times are numbers of seconds since the beginning of 2001; key usage is a number, whose bit 0 is digitalSignature;
/// purposes are the contents of their object identifiers. Extensions without a constant here are left out.
///
/// - Parameter keys: the fields that are wanted; all of them if nil. Unknown ones are ignored.
public func SecCertificateCopyValues(
    _ certificate: SecCertificate, _ keys: CFArray?, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFDictionary? {
    let properties = certificate.certificate.properties
    guard let keys else { return properties as CFDictionary }
    let wanted = Set(keys.compactMap { $0 as? String })
    return properties.filter { wanted.contains($0.key) } as CFDictionary
}

private typealias Property = [String: Any]

private func property(_ type: CFString, _ label: String, _ value: Any) -> Property {
    [
        kSecPropertyKeyType: type, kSecPropertyKeyLabel: label, kSecPropertyKeyLocalizedLabel: label,
        kSecPropertyKeyValue: value,
    ]
}

private func section(_ label: String, _ properties: [Property]) -> Property {
    property(kSecPropertyTypeSection, label, properties)
}

extension Certificate {
    fileprivate var properties: [String: Property] {
        var properties: [String: Property] = [
            kSecOIDX509V1Version: property(kSecPropertyTypeString, "Version", String(version)),
            kSecOIDX509V1SerialNumber: property(kSecPropertyTypeString, "Serial Number", serialNumberText),
            kSecOIDX509V1IssuerName: section("Issuer Name", issuer.properties),
            kSecOIDX509V1SubjectName: section("Subject Name", subject.properties),
            kSecOIDX509V1ValidityNotBefore: time("Not Valid Before", notBefore),
            kSecOIDX509V1ValidityNotAfter: time("Not Valid After", notAfter),
        ]
        properties[kSecOIDX509V1SubjectPublicKey] = publicKey.map {
            property(kSecPropertyTypeData, "Public Key Data", Data($0.rawRepresentation))
        }
        properties[kSecOIDSubjectKeyIdentifier] = subjectKeyIdentifier.map {
            section(kSecOIDSubjectKeyIdentifier, [property(kSecPropertyTypeData, "Key Identifier", Data($0))])
        }
        properties[kSecOIDKeyUsage] = keyUsage.map {
            property(kSecPropertyTypeNumber, kSecOIDKeyUsage, NSNumber(value: $0.rawValue))
        }
        properties[kSecOIDExtendedKeyUsage] = extendedKeyUsage.map { purposes in
            property(kSecPropertyTypeArray, kSecOIDExtendedKeyUsage, purposes.map { Data($0.content) })
        }
        let names = subjectAlternativeNames.compactMap(\.property)
        if !names.isEmpty { properties[kSecOIDSubjectAltName] = section(kSecOIDSubjectAltName, names) }
        let authority = property(kSecPropertyTypeString, "Certificate Authority", isCA ? "Yes" : "No")
        if extensionValue("2.5.29.19") != nil {
            properties[kSecOIDBasicConstraints] = section(kSecOIDBasicConstraints, [authority])
        }
        return properties
    }

    private var serialNumberText: String {
        serialNumber.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }

    private func time(_ label: String, _ seconds: Int64) -> Property {
        let date = Date(timeIntervalSince1970: TimeInterval(seconds))
        return property(kSecPropertyTypeNumber, label, NSNumber(value: date.timeIntervalSinceReferenceDate))
    }
}

extension DistinguishedName {
    fileprivate var properties: [Property] {
        attributes.map { property(kSecPropertyTypeString, $0.type.description, $0.value) }
    }
}

extension GeneralName {
    /// Nil for a kind of name that is not text.
    fileprivate var property: Property? {
        switch self {
        case .email(let address): SecItem.property(kSecPropertyTypeString, "Email Address", address)
        case .dns(let name): SecItem.property(kSecPropertyTypeString, "DNS Name", name)
        case .uri(let text):
            URL(string: text).map { SecItem.property(kSecPropertyTypeURL, "URI", $0) }
                ?? SecItem.property(kSecPropertyTypeString, "URI", text)
        case .otherName, .other: nil
        }
    }
}
