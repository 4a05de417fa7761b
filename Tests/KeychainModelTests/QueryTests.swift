import KeychainModel
import SystemCrypto
import Testing

/// One key for every certificate a test makes, because only its existence matters.
private let certificateKey = Result { try PrivateKey.generate(.ecP256) }

/// An item of a certificate on a card, with a subject of this common name or an empty one.
private func certificateItem(commonName: String?) throws -> Item {
    let key = try certificateKey.get()
    let subject = try commonName.map { try DistinguishedName(commonName: $0) } ?? DistinguishedName(der: [0x30, 0])
    let certificate = try CertificateBuilder(subject: subject, publicKey: key.publicKey, notBefore: 0, notAfter: 9)
        .selfSigned(by: key)
    return Item(
        .certificate, attributes: [.label: "l"], keychain: KeychainIdentifier(rawValue: "piv:1"),
        reference: PersistentReference(.certificate, .token(id: "piv:1", object: [1])), der: certificate.der)
}

@Suite struct QueryTests {
    private let password = Item(
        .genericPassword,
        attributes: [.account: "anna", .service: "mail", .label: "Mail", .synchronizable: 0, .accessGroup: "g"],
        keychain: KeychainIdentifier(rawValue: "local:1"),
        reference: PersistentReference(.genericPassword, .local(UniqueID())))

    // MARK: What is refused

    @Test(arguments: [0, -1, Int.min])
    func aLimitBelowOneIsRefused(count: Int) throws {
        let error = try #require(throws: KeychainError.self) { try Query(.key, limit: .atMost(count)) }
        #expect(error.code == .param)
        #expect(error.key == "m_Limit")
    }

    @Test(arguments: [ItemClass.genericPassword, .key])
    func aSubjectMatchNeedsACertificate(itemClass: ItemClass) throws {
        let error = try #require(throws: KeychainError.self) {
            try Query(itemClass, filters: [.subject(SubjectMatch(.contains, "x"))])
        }
        #expect(error.code == .unimplemented)
        #expect(error.key == "m_SubjectContains")
    }

    @Test func caseIsNotIgnoredWhereThereIsNothingToFold() throws {
        let error = try #require(throws: KeychainError.self) {
            try Query(.genericPassword, [.comment: "x"], folding: .case)
        }
        #expect(error.code == .param)
        #expect(error.key == "m_CaseInsensitive")
    }

    @Test func attributesAreCheckedAgainstTheClass() {
        #expect(throws: KeychainError(.noSuchAttribute)) { try Query(.genericPassword, [.keyClass: 1]) }
        #expect(throws: KeychainError(.param)) { try Query(.genericPassword, [Attribute(rawValue: "foo"): 1]) }
        #expect(throws: KeychainError(.param)) { try Query(.key, [.canSign: "yes"]) }
    }

    // MARK: What matches

    @Test(
        arguments: [
            ([:], true), ([.account: "anna"], true), ([.account: .data(Array("anna".utf8))], true),
            ([.account: "anna", .service: "mail"], true), ([.account: "Anna"], false),
            ([.account: "anna", .service: "x"], false),
            ([.comment: "x"], false), ([.comment: ""], false), ([.tokenID: ""], true), ([.tokenID: "piv:1"], false),
            ([.synchronizable: 1], false), ([.synchronizable: Query.anySynchronizable], true),
            ([.label: "mail"], false),
        ] as [(Attributes, Bool)])
    func attributesMatchByEquality(attributes: Attributes, expected: Bool) throws {
        #expect(try Query(.genericPassword, attributes).matches(password) == expected)
    }

    @Test func anItemOfAnotherClassNeverMatches() throws {
        #expect(try !Query(.certificate).matches(password))
        #expect(try !Query(.identity).matches(password))
    }

    @Test func labelsMatchWithoutRegardToCaseWhenAsked() throws {
        #expect(try Query(.genericPassword, [.label: "mAIL"], folding: .case).matches(password))
        #expect(try !Query(.genericPassword, [.label: "mAI"], folding: .case).matches(password))
    }

    @Test func onlyTheChosenKeychainsMatch() throws {
        let here = KeychainIdentifier(rawValue: "local:1")
        let there = KeychainIdentifier(rawValue: "local:2")
        #expect(try Query(.genericPassword, in: [there, here]).matches(password))
        #expect(try !Query(.genericPassword, in: [there]).matches(password))
        #expect(try !Query(.genericPassword, in: []).matches(password))
    }

    @Test func aReferenceMatchesItsItemAloneWhateverItsSync() {
        #expect(Query(password.reference).matches(password))
        #expect(!Query(PersistentReference(.genericPassword, .local(UniqueID()))).matches(password))
        #expect(Query(password.reference).attributes.isEmpty)
    }

    @Test func itemsThatSynchroniseAreFoundOnlyWhenNamed() throws {
        let item = Item(
            .genericPassword, attributes: [.synchronizable: 1], keychain: password.keychain,
            reference: password.reference)
        #expect(try !Query(.genericPassword).matches(item))
        #expect(try Query(.genericPassword, [.synchronizable: true]).matches(item))
        #expect(try Query(.genericPassword, [.synchronizable: "syna"]).matches(item))
    }

    @Test(arguments: [
        (SubjectMatch.Part.contains, "5685316", true), (.contains, "test-5685316-AB", true), (.contains, "", true),
        (.contains, "TEST", false), (.startsWith, "test-", true), (.startsWith, "5685316", false),
        (.endsWith, "-AB", true), (.endsWith, "test-", false), (.wholeString, "test-5685316-AB", true),
        (.wholeString, "test-568", false),
    ])
    func subjectsMatchAtTheirExactAnchors(part: SubjectMatch.Part, text: String, expected: Bool) throws {
        let query = try Query(.certificate, filters: [.subject(SubjectMatch(part, text))])
        #expect(try query.matches(certificateItem(commonName: "test-5685316-AB")) == expected)
    }

    @Test func subjectsMatchWithoutRegardToCaseWhenAsked() throws {
        let query = try Query(.certificate, filters: [.subject(SubjectMatch(.contains, "MÜLLER"))], folding: .case)
        #expect(try query.matches(certificateItem(commonName: "Anna Müller")))
    }

    @Test(arguments: SubjectMatch.Part.allCases)
    func aCertificateWithoutACommonNameIsNeverFoundBySubject(part: SubjectMatch.Part) throws {
        #expect(
            try !Query(.certificate, filters: [.subject(SubjectMatch(part, ""))]).matches(
                certificateItem(commonName: nil)))
    }
}
