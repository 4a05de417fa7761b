import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 6.3.
extension BehaviourCase {
    private static let writable: [Venue] = [.local, .merged]

    /// A self-signed certificate with a common name, if there is one, and the fields that `change` sets.
    private static func certificate(
        _ name: String?, _ change: (inout CertificateBuilder) throws -> Void = { _ in }
    ) throws -> Certificate {
        let key = try TestKey.named("certificates").privateKey
        let subject = try name.map { try DistinguishedName(commonName: $0) } ?? DistinguishedName(der: [0x30, 0])
        var builder = try CertificateBuilder(
            subject: subject, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        try change(&builder)
        return try builder.selfSigned(by: key)
    }

    private static func names(_ stage: Stage, _ query: ItemDictionary) throws -> [String?] {
        try stage.all("cert", query).map { $0["labl"]?.text }
    }

    static let certificates: [BehaviourCase] = [
        BehaviourCase(40, "identities are certificates with their keys") { stage in
            try stage.withIdentity()
            #expect(try stage.all("idnt").count == stage.identityCount)
        },
        BehaviourCase(41, "two certificates of one key are two identities", on: writable) { stage in
            try stage.withIdentity()
            try stage.local.add(TestKey.certificate(of: TestKey.named("anna").privateKey.publicKey, "anna at work"))
            let query: ItemDictionary = ["m_SubjectContains": .string("anna")]
            #expect(try stage.all("idnt", query).map { $0["labl"]?.text } == ["anna holder", "anna at work"])
        },
        BehaviourCase(42, "an identity's changes go to its halves", on: writable) { stage in
            try stage.withIdentity()
            let query: ItemDictionary = ["class": .string("idnt"), "tkid": .string("")]
            try stage.update(
                query, to: ["labl": .string("both have it"), "atag": .string("only keys have it")])
            let certificate = try #require(try stage.all("cert", ["tkid": .string("")]).first)
            let key = try #require(try stage.all("keys", ["tkid": .string("")]).first)
            #expect(certificate["labl"]?.text == "both have it")
            #expect(key["labl"]?.text == nil)
            #expect(key["atag"]?.text == "only keys have it")
            #expect(try stage.all("idnt", ["atag": .string("only keys have it")]).count == 1)
            expect(.dataNotModifiable) { try stage.update(query, to: ["v_Data": .data([1])]) }
            expect(.noSuchAttribute, key: "acct") { try stage.update(query, to: ["acct": .string("a")]) }
            expect(.param, key: "tkid") { try stage.update(query, to: ["tkid": .string("piv:1")]) }
            expect(.itemNotFound) {
                try stage.update(query.merging(["labl": .string("none")]) { $1 }, to: ["labl": .string("x")])
            }
        },
        BehaviourCase(43, "an identity and its reference lead to each other") { stage in
            try stage.withIdentity()
            let found = try stage.copy([
                "class": .string("idnt"), "r_PersistentRef": .bool(true), "m_Limit": .string("m_LimitAll"),
            ])
            for reference in try #require(found?.array) {
                let identity = try #require(
                    try stage.copy(["v_PersistentRef": reference, "r_Ref": .bool(true)])?.identity)
                let again = try stage.copy(["v_Ref": .reference(.identity(identity)), "r_PersistentRef": .bool(true)])
                #expect(again?.bytes == reference.bytes)
            }
        },
        BehaviourCase(45, "deleting an identity leaves a key that another needs", on: writable) { stage in
            try stage.withIdentity()
            try stage.local.add(TestKey.certificate(of: TestKey.named("anna").privateKey.publicKey, "anna at work"))
            try stage.delete(["class": .string("idnt"), "labl": .string("anna holder")])
            #expect(try stage.local.count(.key) == 1)
            #expect(try stage.all("idnt", ["tkid": .string("")]).map { $0["labl"]?.text } == ["anna at work"])
            try stage.delete(["class": .string("idnt"), "labl": .string("anna at work")])
            #expect(try stage.local.count(.key) == 0)
            #expect(try stage.local.count(.certificate) == 0)
            expect(.itemNotFound) {
                try stage.delete(["class": .string("idnt"), "labl": .string("anna at work")])
            }
        },
        BehaviourCase(46, "an identity is added by its halves", on: writable) { stage in
            let key = try TestKey.named("anna")
            let pair: ItemDictionary = ["v_Ref": .reference(.keyPair(key.certificate, key.privateKey))]
            let reference = try stage.add(pair.merging(["r_PersistentRef": .bool(true)]) { $1 })?.bytes
            #expect(try PersistentReference(parsing: #require(reference)).itemClass == .identity)
            #expect(try stage.all("idnt", ["tkid": .string("")]).count == 1)
            expect(.duplicateItem) { try stage.add(pair) }
            try stage.delete(["class": .string("keys"), "tkid": .string("")])
            try stage.add(pair)
            #expect(try stage.all("idnt", ["tkid": .string("")]).count == 1)
            let stranger = try TestKey.named("ben").privateKey
            expect(.param, key: "v_Ref") { try stage.add(["v_Ref": .reference(.keyPair(key.certificate, stranger))]) }
            #expect(try stage.local.count(.certificate) == 1)
        },
        BehaviourCase(47, "the issuer is found raw and normalised") { stage in
            try stage.withIdentity()
            let certificate = try stage.certificate().certificate
            let content = try #require(NormalizedName.content(of: certificate.issuer.der))
            let raw = try stage.all("idnt", ["issr": .data(certificate.issuer.der)])
            let normalised = try stage.all("idnt", ["issr": .data(content)])
            #expect(!raw.isEmpty)
            #expect(raw.map { $0["slnr"]?.bytes } == normalised.map { $0["slnr"]?.bytes })
        },
        BehaviourCase(48, "what is added later makes the identity", on: writable) { stage in
            let key = try TestKey.named("anna")
            try stage.local.add(key.privateKey)
            #expect(try stage.all("idnt", ["tkid": .string("")]).isEmpty)
            try stage.add(["v_Ref": .reference(.certificate(key.certificate))])
            #expect(try stage.all("idnt", ["tkid": .string("")]).count == 1)
        },
        BehaviourCase(49, "a public key makes no identity", on: writable) { stage in
            try stage.withIdentity()
            try stage.local.keychain.add(.publicKey(TestKey.named("anna").privateKey.publicKey))
            #expect(try stage.all("idnt").count == stage.identityCount)
        },
        BehaviourCase(50, "an identity is found by its certificate's label", on: writable) { stage in
            try stage.withIdentity()
            let key: ItemDictionary = ["class": .string("keys"), "tkid": .string("")]
            try stage.update(key, to: ["labl": .string("the key")])
            #expect(try stage.all("idnt", ["labl": .string("anna holder")]).count == 1)
            #expect(try stage.all("idnt", ["labl": .string("the key")]).isEmpty)
            try stage.update(["class": .string("cert"), "tkid": .string("")], to: ["labl": .string("new")])
            #expect(try stage.all("idnt", ["labl": .string("new")]).count == 1)
        },
        BehaviourCase(51, "a filter that the class cannot have is no filter") { stage in
            let filters: ItemDictionary = [
                "m_Issuers": .array([.data([0x30, 0])]), "m_SubjectContains": .string("a"),
                "m_EmailAddressIfPresent": .string("a@b"), "m_Policy": .reference(.policy(.smime)),
                "m_ValidOnDate": .null, "m_TrustedOnly": .bool(true),
                "m_HostOrSubdomainOfHost": .string("example.org"),
            ]
            for (key, value) in filters {
                expect(.unimplemented, key: key) { try stage.copy(["class": .string("genp"), key: value]) }
                expect(.unimplemented, key: key) { try stage.copy(["class": .string("keys"), key: value]) }
            }
            expect(.unimplemented, key: "m_HostOrSubdomainOfHost") {
                try stage.copy(["class": .string("cert"), "m_HostOrSubdomainOfHost": .string("example.org")])
            }
        },
        BehaviourCase(52, "a chain leads to its issuers") { stage in
            try stage.withIdentity()
            let (certificate, _) = try stage.certificate()
            let issuer: ItemDictionary = ["m_Issuers": .array([.data(certificate.issuer.der)])]
            let found = try stage.all("cert", issuer).count
            #expect(found >= 1)
            #expect(try stage.all("idnt", issuer).count >= 1)
            let stranger = try DistinguishedName(commonName: "nobody").der
            #expect(try stage.all("cert", ["m_Issuers": .array([.data(stranger)])]).isEmpty)
            #expect(
                try stage.all("cert", ["m_Issuers": .array([.data(stranger), .data(certificate.issuer.der)])]).count
                    == found)
            expect(.param, key: "m_Issuers") {
                try stage.copy(["class": .string("cert"), "m_Issuers": .array([.data([1, 2])])])
            }
            expect(.param, key: "m_Issuers") {
                try stage.copy(["class": .string("cert"), "m_Issuers": .data([0x30, 0])])
            }
        },
        BehaviourCase(53, "subjects match at their anchors", on: writable) { stage in
            try stage.local.add(certificate("test-5685316-Test"))
            let hits: ItemDictionary = [
                "m_SubjectStartsWith": .string("test-5"), "m_SubjectEndsWith": .string("16-Test"),
                "m_SubjectWholeString": .string("test-5685316-Test"), "m_SubjectContains": .string("5685316"),
            ]
            for (key, value) in hits { #expect(try names(stage, [key: value]).count == 1, "\(key)") }
            #expect(try names(stage, hits).count == 1, "all of them have to match")
            let misses: ItemDictionary = [
                "m_SubjectStartsWith": .string("5685316"), "m_SubjectEndsWith": .string("Test-"),
                "m_SubjectWholeString": .string("test-568"), "m_SubjectContains": .string("TEST-"),
            ]
            for (key, value) in misses { #expect(try names(stage, [key: value]).isEmpty, "\(key)") }
        },
        BehaviourCase(54, "subjects and labels match loosely when asked", on: writable) { stage in
            try stage.local.add(certificate("J\u{F6}rg ＡＢ stra\u{DF}e"), [.label: "Caf\u{E9}"])
            let loosely: ItemDictionary = [
                "m_CaseInsensitive": .bool(true), "m_DiacriticInsensitive": .bool(true),
                "m_WidthInsensitive": .bool(true),
            ]
            let subject: ItemDictionary = ["m_SubjectWholeString": .string("jorg ab STRASSE")]
            #expect(try names(stage, subject).isEmpty)
            #expect(try names(stage, subject.merging(loosely) { $1 }).count == 1)
            for key in loosely.keys {
                #expect(try names(stage, subject.merging(loosely.filter { $0.key != key }) { $1 }).isEmpty, "\(key)")
            }
            #expect(try names(stage, loosely.merging(["labl": .string("CAFE")]) { $1 }).count == 1)
            for key in loosely.keys {
                expect(.param, key: key) { try stage.copy(["class": .string("cert"), key: .bool(true)]) }
            }
        },
        BehaviourCase(55, "a certificate without a common name has no subject to match", on: writable) { stage in
            try stage.local.add(certificate(nil))
            for part in SubjectMatch.Part.allCases {
                let query: ItemDictionary = [part.rawValue: .string(""), "tkid": .string("")]
                #expect(try names(stage, query).isEmpty, "\(part)")
            }
        },
        BehaviourCase(56, "only what leads to a trusted root is found") { stage in
            try stage.withIdentity()
            let root = try stage.certificate().certificate
            for (anchors, count) in [([root], 1), ([], 0)] {
                let session = KeychainSession(
                    searchList: stage.session.searchList, trustAnchors: .certificates(anchors))
                #expect(
                    try session.searchList.items(
                        matching: Query.certificates.trusted().checked(), for: session.client
                    ).found.count == count)
                for itemClass in ["cert", "idnt"] {
                    let query: ItemDictionary = [
                        "class": .string(itemClass), "m_TrustedOnly": .bool(true), "r_Data": .bool(true),
                    ]
                    if count == 0 {
                        expect(.itemNotFound) { try session.copyMatching(query) }
                    } else {
                        #expect(try session.copyMatching(query).found?.bytes == root.der)
                    }
                    #expect(
                        try session.copyMatching(query.merging(["m_TrustedOnly": .bool(false)]) { $1 }).found != nil)
                }
            }
        },
        BehaviourCase(57, "filters come before the limit", on: writable) { stage in
            for number in 1...10 {
                try stage.local.add(
                    certificate("c\(number)") {
                        if number == 10 { $0.subjectAlternativeNames = [.email("Ten@Example.org")] }
                    })
            }
            let query: ItemDictionary = [
                "class": .string("cert"), "m_EmailAddressIfPresent": .string("ten@example.ORG"),
                "m_Limit": .string("m_LimitOne"),
                "r_Attributes": .bool(true),
            ]
            #expect(try stage.copy(query)?.dictionary?["labl"]?.text == "c10")
            expect(.itemNotFound) { try stage.copy(query.merging(["m_EmailAddressIfPresent": .string("")]) { $1 }) }
            expect(.param, key: "m_EmailAddressIfPresent") {
                try stage.copy(query.merging(["m_EmailAddressIfPresent": .null]) { $1 })
            }
        },
        BehaviourCase(58, "a certificate is valid from its first to its last second", on: writable) { stage in
            try stage.local.add(certificate("valid"))
            let dates: [(Int64, Bool)] = [
                (1_599_999_999, false), (1_600_000_000, true), (1_900_000_000, true), (1_900_000_001, false),
            ]
            for (date, isValid) in dates {
                let query: ItemDictionary = ["m_ValidOnDate": .date(date), "tkid": .string("")]
                #expect(try names(stage, query).isEmpty != isValid, "\(date)")
            }
            #expect(try names(stage, ["m_ValidOnDate": .null, "tkid": .string("")]) == ["valid"])
            expect(.param, key: "m_ValidOnDate") {
                try stage.copy(["class": .string("cert"), "m_ValidOnDate": .number(1_700_000_000)])
            }
        },
        BehaviourCase(59, "a policy finds the certificates that fit it", on: writable) { stage in
            let purposes: [(CertificatePolicy, OID, KeyUsage)] = [
                (.tlsClient, .clientAuthentication, .digitalSignature),
                (.tlsServer, .serverAuthentication, .keyEncipherment),
                (.smime, .emailProtection, .keyEncipherment), (.codeSigning, .codeSigning, .digitalSignature),
            ]
            for (policy, purpose, usage) in purposes {
                try stage.local.add(
                    certificate(policy.rawValue) {
                        $0.extendedKeyUsage = [purpose]
                        $0.keyUsage = usage
                    })
            }
            for (policy, _, _) in purposes {
                let query: ItemDictionary = ["m_Policy": .reference(.policy(policy)), "tkid": .string("")]
                #expect(try names(stage, query) == [policy.rawValue])
            }
            #expect(try names(stage, ["m_Policy": .reference(.policy(.basicX509)), "tkid": .string("")]).count == 4)
            expect(.param, key: "m_Policy") { try stage.copy(["class": .string("cert"), "m_Policy": .string("ssl")]) }
        },
        BehaviourCase(60, "a host finds the passwords of its subdomains", on: writable) { stage in
            for server in ["example.org", "www.Example.org", "notexample.org", "org"] {
                try stage.add(["class": .string("inet"), "srvr": .string(server)])
            }
            let found = try stage.all("inet", ["m_HostOrSubdomainOfHost": .string("example.org")])
            #expect(found.map { $0["srvr"]?.text } == ["example.org", "www.Example.org"])
            expect(.param, key: "m_HostOrSubdomainOfHost") {
                try stage.copy(["class": .string("inet"), "m_HostOrSubdomainOfHost": .string("")])
            }
        },
        BehaviourCase(61, "a search stays within its keychains and items") { stage in
            let other = try TestKeychain()
            let elsewhere = try other.add(certificate("elsewhere"))
            stage.open(other)
            let query: ItemDictionary = ["m_SearchList": .array([.reference(.keychain(other.keychain.identifier))])]
            #expect(try names(stage, query) == ["elsewhere"])
            try stage.withIdentity()
            let all = try stage.copy(["class": .string("cert"), "r_Ref": .bool(true), "m_Limit": .string("m_LimitAll")]
            )?.array
            let first = try #require(all?.first?.item)
            for list in [ItemValue.data(first.reference.encoded()), .reference(.item(first))] {
                #expect(try names(stage, ["m_ItemList": .array([list])]) == [first.label])
            }
            #expect(try names(stage, ["m_ItemList": .array([.reference(.item(elsewhere))])]).isEmpty)
            #expect(try names(stage, ["m_ItemList": .array([])]).isEmpty)
            #expect(try stage.all("idnt", ["m_ItemList": .array([.reference(.item(first))])]).count == 1)
            expect(.param, key: "m_ItemList") {
                try stage.copy(["class": .string("cert"), "m_ItemList": .array([.number(1)])])
            }
            expect(.param, key: "m_SearchList") {
                try stage.copy(["class": .string("cert"), "m_SearchList": .array([.string("login")])])
            }
        },
        BehaviourCase(62, "a limit is a number above nothing, one or all") { stage in
            for limit in [ItemValue.number(0), .number(-1), .number(.min), .string("m_LimitSome"), .null, .bool(true)] {
                expect(.param, key: "m_Limit") { try stage.copy(["class": .string("cert"), "m_Limit": limit]) }
            }
        },
    ]
}
