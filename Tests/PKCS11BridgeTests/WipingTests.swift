import CCryptoki
import Foundation
import KeychainHost
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import PKCS11Bridge

/// No copy of a program's secret is left in memory, whichever code had it meanwhile.
@Suite struct WipingTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    /// Random bytes, of which arrays hold only the complement.
    private struct Pattern {
        private let complement: [UInt8]

        init(_ count: Int = 32) { complement = (0..<count).map { _ in UInt8.random(in: 0...0xFF) } }

        var secret: Secret {
            Secret(capacity: complement.count) { output in
                for index in complement.indices { output.append(~complement[index]) }
            }
        }

        var occurrences: Int {
            get throws { try ProcessMemory.occurrences(of: secret) }
        }
    }

    private func template(_ type: CK_ATTRIBUTE_TYPE, _ secret: Pattern, _ others: [(CK_ATTRIBUTE_TYPE, [UInt8])])
        -> Template
    {
        var template = Template(others.map { (type: $0.0, value: $0.1) })
        let value = secret.secret
        template.append(type, value.bytes)
        return template
    }

    @Test func whatIsThereIsFound() throws {
        let pattern = Pattern()
        let secret = pattern.secret
        let array = secret.copy
        let found = try pattern.occurrences
        #expect(found == 2)
        #expect(secret.copy == array)
    }

    @Test func searchingMakesNoPagesOfMemoryThatHasNone() throws {
        let pageSize = sysconf(Int32(_SC_PAGESIZE))
        let size = 4096 * pageSize
        let memory = try #require(ProcessMemory.map(size))
        defer { munmap(memory, size) }
        func present() throws -> Int {
            var pages = [UInt8](repeating: 0, count: size / pageSize)
            try #require(mincore(memory, size, &pages) == 0)
            return pages.count { $0 & 1 == 1 }
        }
        let pattern = Pattern()
        // One half of the pattern is on each of two pages.
        let place = UnsafeMutableRawBufferPointer(start: memory + 100 * pageSize - 16, count: 32)
        pattern.secret.bytes.withUnsafeBytes { place.copyMemory(from: $0) }
        #expect(try present() == 2)
        #expect(try pattern.occurrences == 1)
        #expect(try present() == 2)
    }

    @Test func aTemplatesSecretsEndWithItsLastCopy() throws {
        for type in PrivateNumbers.all {
            let pattern = Pattern()
            do {
                let first = template(type, pattern, [(CKA_LABEL, [1])])
                let second = first.without(CKA_LABEL)
                #expect(try pattern.occurrences == 1)
                #expect(second.secret(type)?.equals(pattern.secret) == true)
                #expect(first[CKA_LABEL] == [1] && second[CKA_LABEL] == nil)
            }
            #expect(try pattern.occurrences == 0)
        }
    }

    @Test func aPasswordThatIsKeptAndCopiedIsOnlyInTheKeychain() throws {
        let pattern = Pattern()
        let session = try session()
        let object = try cryptoki.createObject(
            session, template(CKA_VALUE, pattern, [(CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_TOKEN, [1])]))
        #expect(try pattern.occurrences == 0)
        let copy = try cryptoki.copyObject(
            session, object, Template([(CKA_LABEL, Encoded.text("other")), (CKA_TOKEN, [1])]))
        #expect(try pattern.occurrences == 0)
        let read = try module.value(session, copy, CKA_VALUE)
        #expect(read == pattern.secret.copy)
    }

    @Test func aSecretKeyEndsWithItsSession() throws {
        let pattern = Pattern()
        let session = try session()
        let secretKey = (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY))
        _ = try cryptoki.createObject(session, template(CKA_VALUE, pattern, [secretKey]))
        #expect(try pattern.occurrences == 1)
        try cryptoki.closeSession(session)
        #expect(try pattern.occurrences == 0)
    }

    @Test func thePrimesOfAKeyThatIsBroughtAreOnlyInTheKeychain() throws {
        let session = try session()
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let (modulus, exponent) = try #require(key.publicKey.rsaComponents)
        var brought = Template([
            (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_RSA)), (CKA_MODULUS, modulus),
            (CKA_PUBLIC_EXPONENT, exponent), (CKA_TOKEN, [1]),
        ])
        for type in PrivateNumbers.types(of: key.kind) {
            let value = try PrivateNumbers.value(type, of: key)
            brought.append(type, value.bytes)
        }
        _ = try cryptoki.createObject(session, brought)
        // The only copies are the template's: OpenSSL has its numbers in the reverse byte order.
        for type in PrivateNumbers.types(of: key.kind) {
            #expect(try ProcessMemory.occurrences(of: PrivateNumbers.value(type, of: key)) == 1)
        }
    }

    @Test func whatIsEncryptedInPartsEndsWithTheOperation() throws {
        let (first, second) = (Pattern(), Pattern())
        let session = try session()
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_RSA_PKCS_KEY_PAIR_GEN), Template([(CKA_MODULUS_BITS, Encoded.ulong(2048))]),
            Template())
        func begin() throws {
            try cryptoki.encryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: pair.publicKey)
            for part in [first, second] { _ = try cryptoki.encryptUpdate(session, part.secret, .bytes(0)) }
            #expect(try [first.occurrences, second.occurrences] == [1, 1])
        }
        try begin()
        let encrypted = try bytes(of: cryptoki.encryptFinal(session, .bytes(256)))
        #expect(try [first.occurrences, second.occurrences] == [0, 0])
        try cryptoki.decryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: pair.privateKey)
        #expect(
            try bytes(of: cryptoki.decrypt(session, encrypted, .bytes(256))) == first.secret.copy + second.secret.copy)
        let others = (Pattern(), Pattern())
        try cryptoki.encryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: pair.publicKey)
        _ = try cryptoki.encryptUpdate(session, others.0.secret, .bytes(0))
        try cryptoki.cancel(session, flags: CKF_ENCRYPT)
        #expect(try others.0.occurrences == 0)
    }
}
