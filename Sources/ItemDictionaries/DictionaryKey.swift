internal import KeychainModel
internal import Localization
internal import SystemCrypto

/// A key that is not an attribute, with its legal places and its meaning (keychain semantics 1.1, 1.5, 1.7 and 3.3).
struct DictionaryKey: Sendable {
    typealias Operation = ParsedDictionary.Operation

    let operations: Set<Operation>
    /// Stores the value in the parsed dictionary; returns false if it is of a wrong kind.
    let read: @Sendable (ItemValue, inout ParsedDictionary) throws(KeychainError) -> Bool

    /// Every key, by the string behind its constant.
    static let table: [String: DictionaryKey] = {
        let families = [values, matches, returns, uses]
        return Dictionary(uniqueKeysWithValues: families.joined())
    }()

    private static let everywhere: Set<Operation> = [.add, .copy, .update, .delete]
    /// The operations that select existing items.
    private static let selecting: Set<Operation> = [.copy, .update, .delete]

    private typealias Family = [(String, DictionaryKey)]

    // MARK: class, v_

    private static let values: Family = [
        (
            "class",
            key(everywhere.union([.change])) { value, parsed throws(KeychainError) in
                guard case .string(let code) = value else { return false }
                parsed.itemClass = try ItemClass(code: code)
                return true
            }
        ),
        (
            "v_Data",
            key([.add, .change]) { value, parsed in
                switch value {
                case .data, .secret: parsed.data = value
                default: return false
                }
                return true
            }
        ),
        (
            "v_Ref",
            key(everywhere) { value, parsed in
                guard case .reference(let reference) = value, reference.itemClass != nil else { return false }
                parsed.reference = reference
                return true
            }
        ),
        (
            "v_PersistentRef",
            key(selecting) { value, parsed throws(KeychainError) in
                guard case .data(let bytes) = value else { return false }
                parsed.persistentReference = try PersistentReference(parsing: bytes)
                return true
            }
        ),
    ]

    // MARK: m_

    private static let matches: Family =
        [
            (
                "m_Limit",
                key(selecting) { value, parsed throws(KeychainError) in
                    switch value {
                    case .string("m_LimitOne"): parsed.limit = .one
                    case .string("m_LimitAll"): parsed.limit = .all
                    case .number(let count): parsed.limit = .atMost(Int(clamping: count))
                    default: return false
                    }
                    return true
                }
            ),
            ("m_CaseInsensitive", folding(.case)), ("m_DiacriticInsensitive", folding(.diacritics)),
            ("m_WidthInsensitive", folding(.width)),
            ("m_EmailAddressIfPresent", text { .emailAddress($0) }),
            ("m_HostOrSubdomainOfHost", text { .hostOrSubdomain($0) }),
            (
                "m_Issuers",
                filter { value in
                    guard case .array(let values) = value else { return nil }
                    let names = values.compactMap { if case .data(let name) = $0 { name } else { nil } }
                    return names.count == values.count ? .issuers(names) : nil
                }
            ),
            (
                "m_Policy",
                filter { value in
                    if case .reference(.policy(let policy)) = value { .policy(policy) } else { nil }
                }
            ),
            (
                "m_ValidOnDate",
                filter { value in
                    switch value {
                    case .date(let time): .validOn(time)
                    case .null: .validNow
                    default: nil
                    }
                }
            ),
            ("m_TrustedOnly", flag([.copy]) { flag, parsed in if flag { parsed.filters.append(.trusted) } }),
            ("m_ItemList", filter(selecting) { value in ItemList(value).map { .items($0) } }),
            (
                "m_SearchList",
                key(selecting) { value, parsed in
                    guard case .array(let values) = value else { return false }
                    let keychains = values.compactMap(\.keychain)
                    parsed.searchList = keychains
                    return keychains.count == values.count
                }
            ),
        ]
        + SubjectMatch.Part.allCases.map { part in (part.rawValue, text { .subject(part, $0) }) }

    // MARK: r_

    private static let returns: Family = [
        ("r_Data", returning(.data)), ("r_Attributes", returning(.attributes)), ("r_Ref", returning(.reference)),
        ("r_PersistentRef", returning(.persistentReference)), ("r_Provenance", returning(.provenance)),
    ]

    // MARK: u_

    private static let uses: Family = [
        (
            "u_AuthUI",
            key(everywhere) { value, parsed in
                switch value {
                case .string("u_AuthUIA"): parsed.authenticationUI = .allow
                case .string("u_AuthUIF"): parsed.authenticationUI = .fail
                case .string("u_AuthUIS"): parsed.authenticationUI = .skip
                default: return false
                }
                return true
            }
        ),
        ("u_NoAuthUI", flag(everywhere) { flag, parsed in if flag { parsed.authenticationUI = .fail } }),
        (
            "u_CredRef",
            key(everywhere) { _, _ throws(KeychainError) in
                throw KeychainError(
                    .unimplemented, "a credential is given as part of an authentication context", key: "u_CredRef")
            }
        ),
        (
            "u_ItemList",
            key(everywhere) { _, _ throws(KeychainError) in
                throw KeychainError(
                    .unimplemented, "items are added one by one, and searched for in keychains", key: "u_ItemList")
            }
        ),
        (
            "u_OpPrompt",
            key(everywhere) { value, parsed in
                guard case .string(let text) = value else { return false }
                parsed.prompt = text
                return true
            }
        ),
        (
            "u_Keychain",
            key([.add]) { value, parsed in
                parsed.target = value.keychain
                return parsed.target != nil
            }
        ),
        ("u_LocalOnly", flag(selecting) { flag, parsed in parsed.isLocalOnly = flag }),
        ("u_Distinct", flag([.copy]) { flag, parsed in parsed.isDistinct = flag }),
        ("u_AbsentTokens", flag([.copy]) { flag, parsed in parsed.includesAbsentTokens = flag }),
        // Ignored, since there is one kind of keychain.
        ("nleg", flag(everywhere) { _, _ in }),
    ]

    // MARK: Kinds of keys

    private static func key(
        _ operations: Set<Operation>,
        _ read: @escaping @Sendable (ItemValue, inout ParsedDictionary) throws(KeychainError) -> Bool
    ) -> DictionaryKey {
        DictionaryKey(operations: operations, read: read)
    }

    private static func flag(
        _ operations: Set<Operation>, _ set: @escaping @Sendable (Bool, inout ParsedDictionary) -> Void
    ) -> DictionaryKey {
        key(operations) { value, parsed in
            guard case .bool(let flag) = value else { return false }
            set(flag, &parsed)
            return true
        }
    }

    private static func folding(_ folding: Folding) -> DictionaryKey {
        flag(selecting) { flag, parsed in if flag { parsed.folding.insert(folding) } }
    }

    private static func returning(_ part: ParsedDictionary.Returns) -> DictionaryKey {
        flag([.add, .copy]) { flag, parsed in if flag { parsed.returns.insert(part) } }
    }

    private static func filter(
        _ operations: Set<Operation> = [.copy], _ make: @escaping @Sendable (ItemValue) -> Filter?
    ) -> DictionaryKey {
        key(operations) { value, parsed in
            guard let filter = make(value) else { return false }
            parsed.filters.append(filter)
            return true
        }
    }

    private static func text(_ make: @escaping @Sendable (String) -> Filter) -> DictionaryKey {
        filter { value in if case .string(let text) = value { make(text) } else { nil } }
    }
}

extension ItemValue {
    fileprivate var keychain: KeychainIdentifier? {
        if case .reference(.keychain(let keychain)) = self { keychain } else { nil }
    }
}

extension ItemList {
    /// The list of an array of references and persistent references; nil where an element is neither.
    fileprivate init?(_ value: ItemValue) {
        guard case .array(let values) = value else { return nil }
        self.init()
        for value in values {
            switch value {
            case .data(let bytes):
                guard let reference = try? PersistentReference(parsing: bytes) else { return nil }
                references.insert(reference)
            case .reference(.item(let item)): references.insert(item.reference)
            case .reference(.identity(let identity)): references.insert(identity.reference)
            case .reference(.certificate(let certificate)): certificates.insert(certificate.der)
            default: return nil
            }
        }
    }
}
