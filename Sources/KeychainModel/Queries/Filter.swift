internal import Localization
internal import SystemCrypto

/// A condition of a search beyond the equality of attributes. Filters apply before the limit, and all of them have to pass.
public enum Filter: Sendable, Hashable {
    /// The common name of the certificate's subject; a certificate without one never passes.
    case subject(SubjectMatch)
    /// DER names of which one is the certificate's subject, its issuer, or a subject further up its chain.
    case issuers([[UInt8]])
    /// An e-mail address that the certificate has, without regard to case. No certificate has the empty one.
    case emailAddress(String)
    /// The purpose of the certificate.
    case policy(CertificatePolicy)
    /// A time within the certificate's validity, in seconds since 1970, UTC.
    case validOn(Int64)
    /// A host that the server is, or is a subdomain of.
    case hostOrSubdomain(String)
    /// A chain that leads to a root which the client trusts; at the time of ``validOn(_:)``, else now.
    case trusted
    /// The items of a list.
    case items(ItemList)

    /// A subject match.
    public static func subject(_ part: SubjectMatch.Part, _ text: String) -> Filter {
        .subject(SubjectMatch(part, text))
    }

    /// Valid at this moment.
    public static var validNow: Filter { .validOn(ItemDate.now.seconds) }

    /// The filter's key in the dictionary form.
    public var key: String {
        switch self {
        case .subject(let match): match.part.rawValue
        case .issuers: "m_Issuers"
        case .emailAddress: "m_EmailAddressIfPresent"
        case .policy: "m_Policy"
        case .validOn: "m_ValidOnDate"
        case .hostOrSubdomain: "m_HostOrSubdomainOfHost"
        case .trusted: "m_TrustedOnly"
        case .items: "m_ItemList"
        }
    }

    /// The filter, if items of the class can pass it.
    ///
    /// - Throws: `errSecUnimplemented` for another class, `errSecParam` for an empty host or an issuer that is not a
    ///   name in DER; the error names the key.
    func checked(for itemClass: ItemClass) throws(KeychainError) -> Filter {
        switch self {
        case .items: return self
        case .hostOrSubdomain(let host):
            guard itemClass == .internetPassword else { throw unsuitable(for: itemClass) }
            guard !host.isEmpty else { throw KeychainError(.param, "the name of the host is empty", key: key) }
        case .issuers(let names):
            guard itemClass == .certificate || itemClass == .identity else { throw unsuitable(for: itemClass) }
            for name in names where NormalizedName.content(of: name) == nil {
                throw KeychainError(.param, "an issuer has to be a name in DER", key: key)
            }
        case .subject, .emailAddress, .policy, .validOn, .trusted:
            guard itemClass == .certificate || itemClass == .identity else { throw unsuitable(for: itemClass) }
        }
        return self
    }

    private func unsuitable(for itemClass: ItemClass) -> KeychainError {
        KeychainError(.unimplemented, "no \(itemClass.noun) can be found by \(key)", key: key)
    }
}

/// Items that are named one by one: stored ones by their references, certificates from elsewhere by their bytes.
public struct ItemList: Sendable, Hashable {
    public var references: Set<PersistentReference>
    /// DER of certificates.
    public var certificates: Set<[UInt8]>

    public init(_ references: some Sequence<PersistentReference> = [], certificates: some Sequence<[UInt8]> = []) {
        self.references = Set(references)
        self.certificates = Set(certificates)
    }

    func contains(_ item: Item) -> Bool {
        references.contains(item.reference)
            || item.der.map { item.itemClass == .certificate && certificates.contains($0) } ?? false
    }
}

/// The comparison of the common name of a certificate's subject with a text.
public struct SubjectMatch: Sendable, Hashable {
    /// The part of the name that must be equal.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        case contains = "m_SubjectContains"
        case startsWith = "m_SubjectStartsWith"
        case endsWith = "m_SubjectEndsWith"
        case wholeString = "m_SubjectWholeString"
    }

    public let part: Part
    public let text: String

    public init(_ part: Part, _ text: String) {
        self.part = part
        self.text = text
    }

    /// Whether a common name passes.
    func accepts(_ name: String, _ folding: Folding) -> Bool {
        let (name, text) = (folding.fold(name), folding.fold(text))
        return switch part {
        case .contains: text.isEmpty || name.contains(text)
        case .startsWith: name.hasPrefix(text)
        case .endsWith: name.hasSuffix(text)
        case .wholeString: name == text
        }
    }
}
