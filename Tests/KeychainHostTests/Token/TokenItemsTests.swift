import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct TokenItemsTests {
    private let items = TokenItems(
        identity: TokenIdentity(id: TokenID(driver: "piv", instance: "1"), label: "Card"), name: "Reader")

    private func found(_ itemClass: ItemClass, _ object: TokenObject) throws -> Outcome<[Item]> {
        items.result(of: ResolvedQuery(try Query(itemClass, limit: .all)), in: TokenInventory(objects: [object]))
    }

    private func object(_ key: TestKey, usage: TokenKey.Usage = [.sign, .agree]) -> TokenObject {
        TokenObject(
            id: TokenObjectID("9A"), label: "PIV Authentication", certificate: key.certificate.der,
            key: TokenKey(
                kind: .ecP256, publicKey: key.publicKey.spki, usage: usage, pinPolicy: .once))
    }

    @Test func aKeyHasTheAttributesOfOneThatNeverLeaves() throws {
        let key = try TestKey.named("anna")
        let item = try #require(try found(.key, object(key)).found.first)
        let expected: Attributes = [
            .label: "PIV Authentication", .tokenID: "piv:1", .accessGroup: "com.apple.token", .accessible: "dk",
            .synchronizable: 0, .keyClass: 1, .applicationLabel: .data(key.publicKey.keyHash), .keyType: 73,
            .keySizeInBits: 256, .isPermanent: true, .isPrivate: true, .isModifiable: false, .isExtractable: false,
            .isSensitive: true, .wasAlwaysSensitive: true, .wasNeverExtractable: true, .canSign: true,
            .canDecrypt: false, .canUnwrap: false, .canDerive: true, .canVerify: false, .canEncrypt: false,
        ]
        for (attribute, value) in expected { #expect(item[attribute] == value, "\(attribute)") }
        #expect(item.der == key.publicKey.spki)
        #expect(item.isOnToken)
        #expect(item.isUsablePrivateKey)
    }

    @Test func aCertificateHasTheAttributesOfItsOwnAndTheTokens() throws {
        let key = try TestKey.named("anna")
        let item = try #require(try found(.certificate, object(key)).found.first)
        #expect(item[.publicKeyHash] == .data(key.publicKey.keyHash))
        #expect(item[.serialNumber] == .data(key.certificate.serialNumber))
        #expect(item[.label] == "PIV Authentication")
        #expect(item[.tokenID] == "piv:1")
        #expect(item.der == key.certificate.der)
    }

    @Test(arguments: [TokenKey.Usage.sign, .decrypt, .agree, []])
    func abilitiesAreTheDrivers(usage: TokenKey.Usage) throws {
        let item = try #require(try found(.key, object(TestKey.named("anna"), usage: usage)).found.first)
        #expect(item[.canSign]?.isTrue == usage.contains(.sign))
        #expect(item[.canDecrypt]?.isTrue == usage.contains(.decrypt))
        #expect(item[.canUnwrap]?.isTrue == usage.contains(.decrypt))
        #expect(item[.canDerive]?.isTrue == usage.contains(.agree))
        #expect(item.isUsablePrivateKey == !usage.isEmpty)
    }

    @Test func aKeyOfUnknownKindIsListedAllTheSame() throws {
        let object = TokenObject(
            id: TokenObjectID("82"), label: "Retired",
            key: TokenKey(kind: .other("0x77"), publicKey: [], usage: [], pinPolicy: .other(9)))
        let result = try found(.key, object)
        let item = try #require(result.found.first)
        #expect(result.missing.isEmpty)
        #expect(item.label == "Retired")
        #expect(item.isPrivateKey)
        #expect(item.publicKeyHash == nil)
        #expect(item.der == nil)
        #expect(!item.isUsablePrivateKey)
    }

    @Test func aCertificateNobodyCanReadIsReported() throws {
        let result = try found(
            .certificate, TokenObject(id: TokenObjectID("9A"), label: "PIV Authentication", certificate: [0x30, 0x00]))
        #expect(result.found.isEmpty)
        #expect(result.missing.map(\.error.code) == [.decode])
        #expect(result.missing.map(\.kind) == [.damagedItem])
        #expect(result.missing.map(\.place) == [.card] && result.missing.map(\.keychain) == ["Reader"])
    }

    @Test func whatADriverCouldNotReadIsReportedInOrder() throws {
        let failures = [
            TokenObjectID("9C"): TokenError(.malformed, "bad"), TokenObjectID("9A"): TokenError(.malformed, "worse"),
        ]
        let result = items.result(of: ResolvedQuery(try Query(.key)), in: TokenInventory(failures: failures))
        #expect(result.missing.map(\.error.reason) == ["cannot read 9A: worse", "cannot read 9C: bad"])
    }

    @Test func thereAreNoPasswordsOnACard() throws {
        #expect(try found(.genericPassword, object(TestKey.named("anna"))).found.isEmpty)
    }

    @Test func aReferenceNamesObjectAndKey() throws {
        let (first, second) = (try TestKey.named("anna"), try TestKey.named("ben"))
        let references = try [first, second].map { try #require(try found(.key, object($0)).found.first).reference }
        #expect(references[0] != references[1])
        #expect(references[0].tokenID == "piv:1")
        #expect(references[0].tokenObject == TokenObjectID("9A"))
    }
}

@Suite struct TokenErrorMappingTests {
    static let codes: [(TokenError.Code, ErrSec)] = [
        (.pinIncorrect, .authFailed), (.pinBlocked, .authFailed), (.pinLastTry, .authFailed), (.pinFormat, .authFailed),
        (.pinKnownIncorrect, .authFailed), (.pinRequired, .notLoggedIn), (.notFound, .itemNotFound),
        (.invalidArgument, .param), (.malformed, .decode), (.card(.removed), .deviceReset),
        (.card(.reset), .deviceReset), (.card(.communication), .deviceFailed), (.card(.muteCard), .deviceFailed),
        (.card(.noCard), .noSuchKeychain), (.card(.noReader), .noSuchKeychain), (.card(.inUse), .notAvailable),
        (.card(.serviceUnavailable), .notAvailable), (.card(.cancelled), .userCanceled),
    ]

    @Test(arguments: codes) func codesAreThoseOfTheSpecification(code: TokenError.Code, expected: ErrSec) {
        let error = KeychainError(TokenError(code, "why", triesLeft: 2))
        #expect(error.code == expected)
        #expect(error.reason == "why")
        #expect(error.triesLeft == 2)
    }
}
