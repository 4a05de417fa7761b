import SystemCrypto
import Testing
import TokenKit

@testable import KeychainHost

@Suite struct KeyAlgorithmTests {
    /// The names of algorithms for symmetric keys, for which Apple has none.
    static let ownNames = Set(
        ["encrypt:AES:GCM", "encrypt:AES:KW"].map { "algid:\($0)" }
            + ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"].map { "algid:sign:HMAC:\($0)" })

    /// The values of `kSecKeyAlgorithm…`, without those for MD5.
    static let names: Set<String> = {
        var names: Set<String> = [
            "algid:sign:RSA:raw", "algid:sign:RSA:digest-PKCS1v15", "algid:sign:ECDSA:digest-X962",
            "algid:sign:ECDSA:digest-RFC4754", "algid:sign:EdDSA:message-Curve25519:SHA512", "algid:encrypt:RSA:raw",
            "algid:encrypt:RSA:PKCS1", "algid:keyexchange:ECDH", "algid:keyexchange:ECDHC",
            "algid:sign:RSA:digest-PSS:SHA1:SHA1:20", "algid:sign:RSA:digest-PSS:SHA224:SHA224:24",
            "algid:sign:RSA:digest-PSS:SHA256:SHA256:32", "algid:sign:RSA:digest-PSS:SHA384:SHA384:48",
            "algid:sign:RSA:digest-PSS:SHA512:SHA512:64", "algid:sign:RSA:message-PSS:SHA1:SHA1:20",
            "algid:sign:RSA:message-PSS:SHA224:SHA224:24", "algid:sign:RSA:message-PSS:SHA256:SHA256:32",
            "algid:sign:RSA:message-PSS:SHA384:SHA384:48", "algid:sign:RSA:message-PSS:SHA512:SHA512:64",
        ]
        for hash in ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"] {
            names.formUnion(["digest", "message"].map { "algid:sign:RSA:\($0)-PKCS1v15:\(hash)" })
            names.formUnion(["digest", "message"].map { "algid:sign:ECDSA:\($0)-X962:\(hash)" })
            names.formUnion(["digest", "message"].map { "algid:sign:ECDSA:\($0)-RFC4754:\(hash)" })
            names.formUnion(["algid:encrypt:RSA:OAEP:\(hash)", "algid:encrypt:RSA:OAEP:\(hash):AESGCM"])
            for exchange in ["ECDH", "ECDHC"] {
                names.insert("algid:keyexchange:\(exchange):KDFX963:\(hash)")
                names.insert("algid:encrypt:ECIES:\(exchange):KDFX963:\(hash):AESGCM")
                if hash != "SHA1" { names.insert("algid:encrypt:ECIES:\(exchange):KDFX963:\(hash):AESGCM-KDFIV") }
            }
        }
        return names
    }()

    @Test func errorsHaveTheNamesOfTheStandards() {
        #expect(KeyAlgorithm.all.allSatisfy { !"\($0)".contains(":") })
        #expect("\(KeyAlgorithm.encryption(.oaep(.sha1)))" == "RSA-OAEP with SHA-1")
        #expect("\(KeyAlgorithm.signature(.rsaPSS(.sha256)))" == "RSA-PSS with SHA-256 over a digest")
        #expect("\(KeyAlgorithm.aesGCM)" == "AES-GCM")
    }

    @Test func thereIsOneForEachOfApplesNames() {
        let names = Self.names.union(Self.ownNames)
        #expect(Set(KeyAlgorithm.all.map(\.rawValue)) == names)
        #expect(KeyAlgorithm.all.count == names.count)
        for name in names { #expect(KeyAlgorithm(rawValue: name)?.rawValue == name) }
    }

    @Test func otherNamesAreNone() {
        for name in [
            "", "algid", "algid:sign:RSA:digest-PKCS1v15:MD5", "algid:sign:RSA:message-PKCS1v15",
            "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM-KDFIV", "ALGID:SIGN:RSA:RAW",
        ] {
            #expect(KeyAlgorithm(rawValue: name) == nil, "\(name)")
        }
    }

    @Test func theOldNameOfRFC4754IsTheOneWithoutAHashFunction() throws {
        let old = try #require(KeyAlgorithm(rawValue: "algid:sign:ECDSA:RFC4754"))
        #expect(old == .signature(.ecdsa(nil, .rfc4754)))
        #expect(old.hashValue == KeyAlgorithm.signature(.ecdsa(nil, .rfc4754)).hashValue)
        #expect(old.rawValue == "algid:sign:ECDSA:digest-RFC4754")
    }

    @Test func theNamesInCodeAreTheirs() {
        let rows: [(KeyAlgorithm, String)] = [
            (.signature(.rsaRaw), "sign:RSA:raw"), (.signature(.rsaPKCS1(nil)), "sign:RSA:digest-PKCS1v15"),
            (.signature(.rsaPKCS1(.sha1)), "sign:RSA:digest-PKCS1v15:SHA1"),
            (.messageSignature(.rsaPKCS1(.sha256)), "sign:RSA:message-PKCS1v15:SHA256"),
            (.signature(.rsaPSS(.sha384)), "sign:RSA:digest-PSS:SHA384:SHA384:48"),
            (.messageSignature(.rsaPSS(.sha512)), "sign:RSA:message-PSS:SHA512:SHA512:64"),
            (.signature(.ecdsa(nil)), "sign:ECDSA:digest-X962"),
            (.signature(.ecdsa(.sha1)), "sign:ECDSA:digest-X962:SHA1"),
            (.messageSignature(.ecdsa(.sha224)), "sign:ECDSA:message-X962:SHA224"),
            (.signature(.ecdsa(nil, .rfc4754)), "sign:ECDSA:digest-RFC4754"),
            (.signature(.ecdsa(.sha256, .rfc4754)), "sign:ECDSA:digest-RFC4754:SHA256"),
            (.messageSignature(.ecdsa(.sha384, .rfc4754)), "sign:ECDSA:message-RFC4754:SHA384"),
            (.signature(.ed25519), "sign:EdDSA:message-Curve25519:SHA512"),
            (.encryption(.raw), "encrypt:RSA:raw"), (.encryption(.pkcs1), "encrypt:RSA:PKCS1"),
            (.encryption(.oaep(.sha1)), "encrypt:RSA:OAEP:SHA1"),
            (.rsaHybrid(.sha256), "encrypt:RSA:OAEP:SHA256:AESGCM"),
            (.keyExchange(.standard, nil), "keyexchange:ECDH"), (.keyExchange(.cofactor, nil), "keyexchange:ECDHC"),
            (.keyExchange(.standard, .sha1), "keyexchange:ECDH:KDFX963:SHA1"),
            (.keyExchange(.cofactor, .sha512), "keyexchange:ECDHC:KDFX963:SHA512"),
            (.ecies(.standard, .sha1, .zero), "encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM"),
            (.ecies(.cofactor, .sha1, .zero), "encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM"),
            (
                .ecies(.standard, .sha224, .derived),
                "encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV"
            ),
            (
                .ecies(.cofactor, .sha256, .derived),
                "encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV"
            ),
        ]
        for (algorithm, name) in rows + Self.symmetricRows { #expect(algorithm.rawValue == "algid:\(name)") }
        #expect(!KeyAlgorithm.all.contains(.ecies(.standard, .sha1, .derived)))
        #expect(!KeyAlgorithm.all.contains(.ecies(.cofactor, .sha1, .derived)))
    }

    private static let symmetricRows: [(KeyAlgorithm, String)] = [
        (.aesGCM, "encrypt:AES:GCM"), (.aesKeyWrap, "encrypt:AES:KW"),
        (.hmac(.sha1), "sign:HMAC:SHA1"), (.hmac(.sha512), "sign:HMAC:SHA512"),
    ]

    @Test func everyChainEndsWithABareOperation() {
        for algorithm in KeyAlgorithm.all {
            for operation in [KeyOperation.sign, .decrypt, .keyExchange] {
                var step = AlgorithmStep(operation, algorithm)
                var isForIt = TokenOperation.Action(step, []) != nil
                var length = 0
                while let simpler = step.simpler {
                    step = simpler
                    isForIt = true
                    length += 1
                }
                #expect(length <= 4)
                #expect((TokenOperation.Action(step, []) != nil) == isForIt, "\(algorithm) \(operation)")
            }
        }
    }

    @Test func operationsHaveApplesNumbers() {
        #expect(KeyOperation.allCases == [.sign, .verify, .encrypt, .decrypt, .keyExchange])
        #expect(KeyOperation.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
    }
}
