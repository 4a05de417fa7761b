import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@Suite struct TokenIDTests {
    @Test(
        arguments: [
            ("piv:0123ABCD", "piv", "0123ABCD"), ("piv:a:b:c", "piv", "a:b:c"), ("x:é", "x", "é"),
        ])
    func isDriverAndInstance(text: String, driver: String, instance: String) throws {
        let id = try #require(TokenID(text))
        #expect(id == TokenID(driver: driver, instance: instance))
        #expect(id.description == text)
    }

    @Test(arguments: ["", ":", "piv", "piv:", ":123"])
    func neitherPartMayBeMissing(text: String) {
        #expect(TokenID(text) == nil)
    }
}

@Suite struct ProofKeyTests {
    @Test(arguments: [true, false])
    func comesBackFromItsEncoding(canBeChallenged: Bool) {
        for length in [1, 127, 128, 300] {
            let key = ProofKey(
                object: TokenObjectID("9E"), publicKey: [UInt8](repeating: 7, count: length),
                canBeChallenged: canBeChallenged)
            #expect(ProofKey(parsing: key.encoded()) == key)
        }
    }

    @Test func isNothingElse() {
        let bytes = ProofKey(object: TokenObjectID("9E"), publicKey: [7], canBeChallenged: true).encoded()
        for count in bytes.indices { #expect(ProofKey(parsing: Array(bytes.prefix(count))) == nil) }
        #expect(ProofKey(parsing: bytes + [0x83, 0]) == nil)
        #expect(ProofKey(parsing: bytes.dropLast() + [2]) == nil)
        #expect(ProofKey(parsing: [0x80, 0, 0x81, 1, 7, 0x82, 1, 1]) == nil)
        #expect(ProofKey(parsing: [0x80, 1, 0x39, 0x81, 0, 0x82, 1, 1]) == nil)
    }
}

@Suite struct TokenErrorTests {
    @Test func isEqualByItsCode() {
        let error = TokenError(.pinIncorrect, "the PIN is wrong", triesLeft: 2, status: 0x63C2)
        #expect(error == TokenError(.pinIncorrect, ""))
        #expect(error != TokenError(.pinBlocked, "the PIN is wrong", triesLeft: 2, status: 0x63C2))
        #expect(Set([error, TokenError(.pinIncorrect, "")]).count == 1)
    }

    @Test func saysWhatHappenedAndWhichStatusToldOfIt() {
        #expect(TokenError(.notFound, "no such key").description == "no such key")
        #expect(TokenError(.malformed, "cut", status: 0x6F42).description == "cut (6F42)")
        #expect(TokenError(.notFound, "gone", status: .objectNotFound).description == "gone (6A82, object not found)")
    }

    @Test(arguments: CardError.Code.allCases)
    func holdsWhyTheCardWasOutOfReach(code: CardError.Code) {
        let error = TokenError(CardError(code, "why"))
        #expect(error.code == .card(code))
        #expect(error.reason == "why")
        #expect(error.status == nil && error.triesLeft == nil)
    }

    @Test func isWhatTheExchangeThrowsToo() throws {
        var card = CardTransaction(
            on: ScriptedChannel([.failure(.removed), .failure(.reset), "9000"]),
            link: CardLink(atr: ATR([]), transmissionProtocol: .t1), epoch: 0)
        #expect(throws: TokenError(.card(.removed), "")) { _ = try card.exchange(CommandAPDU(ins: 0, p1: 0, p2: 0)) }
        var pin: [UInt8] = [1]
        let secret = Secret(consuming: &pin)
        let verify = CommandAPDU(ins: 0x20, p1: 0, p2: 0x80)
        #expect(throws: TokenError(.card(.reset), "")) { _ = try card.exchange(verify, secret: secret) }
        #expect(try card.exchange(verify).status == .success)
    }
}

@Suite struct TokenSmallValueTests {
    @Test(arguments: [(nil, false), (0, true), (1, false), (3, false)] as [(Int?, Bool)])
    func aPINWithoutTriesIsBlocked(triesLeft: Int?, isBlocked: Bool) {
        #expect(PINStatus(triesLeft: triesLeft).isBlocked == isBlocked)
    }

    @Test(
        arguments: zip(DigestAlgorithm.allCases, [20, 28, 32, 48, 64]))
    func aDigestHasItsLength(algorithm: DigestAlgorithm, count: Int) {
        #expect(algorithm.byteCount == count)
    }
}
