import CCryptoki
import CryptokiNames
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// The requirements of programs, one by one: `Documentation/consumers.md` lists them all.
@Suite struct ConsumerRequirementTests {
    private let module: TestModule
    private let session: CK_SESSION_HANDLE

    init() throws {
        module = try TestModule(VirtualReader(card: try Cards.mixed()))
        session = try module.session(loggedIn: true)
        _ = try module.find(session)
    }

    private typealias Search = [CK_ATTRIBUTE_TYPE]

    /// Searches for an object by its values, as a program does that knows them from before.
    private func find(_ object: CK_OBJECT_HANDLE, by types: Search) throws -> [CK_OBJECT_HANDLE] {
        let template = try types.map { type in (type: type, value: try module.value(session, object, type)) }
        try module.cryptoki.findObjectsInit(session, Template(template))
        defer { try? module.cryptoki.findObjectsFinal(session) }
        return try module.cryptoki.findObjects(session, limit: 1_000)
    }

    private static let searches: [(CK_OBJECT_CLASS, Search)] = [
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_ID]), (CKO_CERTIFICATE, [CKA_CLASS, CKA_ID, CKA_TOKEN]),
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_CERTIFICATE_TYPE, CKA_ID]),
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_CERTIFICATE_TYPE, CKA_LABEL]),
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_CERTIFICATE_TYPE, CKA_ID, CKA_LABEL]),
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_ISSUER, CKA_SERIAL_NUMBER, CKA_TOKEN]),
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_VALUE]), (CKO_CERTIFICATE, [CKA_CLASS, CKA_LABEL]),
        (CKO_CERTIFICATE, [CKA_CLASS, CKA_LABEL, CKA_TOKEN]),
        (CKO_PRIVATE_KEY, [CKA_CLASS, CKA_ID, CKA_SIGN]), (CKO_PRIVATE_KEY, [CKA_CLASS, CKA_ID, CKA_KEY_TYPE]),
        (CKO_PRIVATE_KEY, [CKA_ID, CKA_DECRYPT, CKA_CLASS, CKA_KEY_TYPE]),
        (CKO_PUBLIC_KEY, [CKA_CLASS, CKA_ID, CKA_KEY_TYPE]), (CKO_PUBLIC_KEY, [CKA_CLASS, CKA_LABEL]),
    ]

    @Test(arguments: searches)
    func whatProgramsSearchByFindsTheOneObjectAndCostsNoCommand(
        objectClass: CK_OBJECT_CLASS, types: [CK_ATTRIBUTE_TYPE]
    ) throws {
        module.reader.clearLog()
        for id: [UInt8] in [[1], [2], [3], [4]] {
            let object = try module.key(session, id, objectClass)
            #expect(try find(object, by: types) == [object])
        }
        #expect(module.reader.log.isEmpty)
    }

    @Test(arguments: [
        [CKA_CLASS, CKA_TOKEN], [CKA_CLASS, CKA_CERTIFICATE_TYPE], [CKA_CLASS, CKA_SUBJECT, CKA_TOKEN],
    ])
    func whatSeveralHaveInCommonFindsThemAllInTheOrderOfTheSlots(types: [CK_ATTRIBUTE_TYPE]) throws {
        module.reader.clearLog()
        let objects = try [1, 2, 3, 4].map { try module.key(session, [$0], CKO_CERTIFICATE) }
        let found = try find(objects[0], by: types)
        #expect(found == objects.filter { found.contains($0) })
        #expect(found.count == (types.contains(CKA_SUBJECT) ? found.count : 4))
        #expect(found.first == objects[0])
        #expect(module.reader.log.isEmpty)
    }

    @Test func anEmptyTemplateFindsCertificatesAndBothHalvesOfEachKey() throws {
        let classes = try module.find(session).map { try module.value(session, $0, CKA_CLASS) }
        for objectClass in [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY] {
            #expect(classes.count { $0 == Encoded.ulong(objectClass) } == 4)
        }
    }

    @Test func aCertificateTellsWhatIsInIt() throws {
        let handle = try module.key(session, [1], CKO_CERTIFICATE)
        let der = try module.value(session, handle, CKA_VALUE)
        let certificate = try Certificate(der: der)
        func value(_ type: CK_ATTRIBUTE_TYPE) throws -> [UInt8] { try module.value(session, handle, type) }
        // An INTEGER with tag and length, as it is in the certificate.
        let serial = try value(CKA_SERIAL_NUMBER)
        #expect(serial.first == 0x02 && Int(serial[1]) == serial.count - 2)
        #expect(der.indices.contains { der[$0...].starts(with: serial) })
        #expect(try value(CKA_SUBJECT) == certificate.subject.der)
        #expect(try value(CKA_ISSUER) == certificate.issuer.der)
        let digest = try certificate.fingerprint(.sha1)
        #expect(try value(CKA_CHECK_VALUE) == Array(digest.prefix(3)))
        // PKCS #11 §4.6.2: 1 is a certificate of the token's user.
        #expect(try value(CKA_CERTIFICATE_CATEGORY) == Encoded.ulong(1))
        #expect(try value(CKA_TRUSTED) == [0])
        let (start, end) = (try value(CKA_START_DATE), try value(CKA_END_DATE))
        for date in [start, end] { #expect(date.count == 8 && date.allSatisfy { (0x30...0x39).contains($0) }) }
        #expect(start.lexicographicallyPrecedes(end))
    }

    @Test func itsDatesAreDaysInUTC() throws {
        var builder = VirtualCardBuilder(profile: .generic)
        builder.keys[.authentication] = .init(.p256)
        let module = try TestModule(VirtualReader(card: try builder.build()))
        let session = try module.session()
        let handle = try module.key(session, [1], CKO_CERTIFICATE)
        let certificate = try Certificate(der: module.value(session, handle, CKA_VALUE))
        #expect(try module.value(session, handle, CKA_START_DATE) == Encoded.date(certificate.notBefore))
        #expect(Encoded.date(0) == Array("19700101".utf8))
        #expect(Encoded.date(951_782_399) == Array("20000228".utf8))
        #expect(Encoded.date(951_782_400) == Array("20000229".utf8))
        #expect(Encoded.date(1_735_689_599) == Array("20241231".utf8))
    }

    @Test func theProfileSaysThatCertificatesAreReadWithoutALogin() throws {
        let module = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try module.session()
        let found = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PROFILE)))
        #expect(found.count == 1)
        // CKP_PUBLIC_CERTIFICATES_TOKEN, PKCS #11 Profiles §3.4.
        #expect(try module.value(session, found[0], CKA_PROFILE_ID) == Encoded.ulong(4))
        #expect(try module.find(session, (CKA_PROFILE_ID, Encoded.ulong(4))) == found)
        #expect(try module.find(session, (CKA_PROFILE_ID, Encoded.ulong(1))).isEmpty)
    }

    @Test func aReaderIsHardwareWhoseTokenCanBeTakenOut() throws {
        let flags = try module.cryptoki.slotInfo(module.slots[0]).flags
        #expect(flags == CKF_HW_SLOT | CKF_REMOVABLE_DEVICE | CKF_TOKEN_PRESENT)
        let other = try TestModule()
        _ = try other.keychain()
        #expect(try other.cryptoki.slotInfo(other.slots[0]).flags & CKF_HW_SLOT == 0)
    }

    @Test func whatProgramsReadOfAKeyIsThere() throws {
        for id: [UInt8] in [[1], [2], [3]] {
            let (key, other) = (try module.key(session, id), try module.key(session, id, CKO_PUBLIC_KEY))
            for type in [
                CKA_PRIVATE, CKA_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_ALWAYS_SENSITIVE, CKA_EXTRACTABLE, CKA_LOCAL,
                CKA_ALWAYS_AUTHENTICATE, CKA_SIGN, CKA_SIGN_RECOVER, CKA_DECRYPT, CKA_UNWRAP, CKA_DERIVE,
            ] {
                #expect(try module.value(session, key, type).count == 1, "\(type)")
            }
            #expect(try !module.value(session, key, CKA_ALLOWED_MECHANISMS).isEmpty)
            for type in [CKA_VERIFY, CKA_ENCRYPT, CKA_WRAP, CKA_TRUSTED] {
                #expect(try module.value(session, other, type).count == 1, "\(type)")
            }
        }
        let rsa = try module.key(session, [1])
        #expect(try module.value(session, rsa, CKA_MODULUS).count == 256)
        #expect(try module.value(session, rsa, CKA_PUBLIC_EXPONENT) == [1, 0, 1])
        let bits = try module.value(session, module.key(session, [1], CKO_PUBLIC_KEY), CKA_MODULUS_BITS)
        #expect(bits == Encoded.ulong(2048))
        // The curve by its name, and the point in an OCTET STRING: PKCS #11 §6.3.3.
        let curve = try module.key(session, [3], CKO_PUBLIC_KEY)
        #expect(try module.value(session, curve, CKA_EC_PARAMS) == KeyKind.ecP384.curveParameters)
        let point = try module.value(session, curve, CKA_EC_POINT)
        #expect(Array(point.prefix(3)) == [0x04, 97, 0x04] && point.count == 99)
    }
}
