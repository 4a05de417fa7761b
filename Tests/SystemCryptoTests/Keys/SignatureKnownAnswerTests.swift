import SystemCrypto
import Testing

@Suite struct SignatureKnownAnswerTests {
    struct Vector {
        let kind: KeyKind
        let digest: DigestAlgorithm
        let message, scalar, r, s: String
    }

    /// RFC 6979 §A.2.5 and §A.2.6.
    static let vectors = [
        Vector(
            kind: .ecP256, digest: .sha256, message: "sample",
            scalar: "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721",
            r: "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
            s: "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"),
        Vector(
            kind: .ecP256, digest: .sha256, message: "test",
            scalar: "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721",
            r: "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367",
            s: "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"),
        Vector(
            kind: .ecP384, digest: .sha384, message: "sample",
            scalar: "6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D8"
                + "96D5724E4C70A825F872C9EA60D2EDF5",
            r: "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C"
                + "81A648152E44ACF96E36DD1E80FABE46",
            s: "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94F"
                + "A329C145786E679E7B82C71A38628AC8"),
    ]

    @Test(arguments: vectors)
    func ecdsaSignaturesOfTheRFCVerify(_ vector: Vector) throws {
        let key = try PrivateKey(ecScalar: secret(hex(vector.scalar)), curve: vector.kind).publicKey
        let signature = try ECDSASignature.der(fromFixedWidth: hex(vector.r + vector.s))
        #expect(try key.verify(signature, message: utf8(vector.message), using: .ecdsa(vector.digest)))
        #expect(try !key.verify(signature, message: utf8("other"), using: .ecdsa(vector.digest)))
        let swapped = try ECDSASignature.der(fromFixedWidth: hex(vector.s + vector.r))
        #expect(try !key.verify(swapped, message: utf8(vector.message), using: .ecdsa(vector.digest)))
    }

    /// Zero and the order itself are no halves of a signature (FIPS 186-5 §6.4.2 step 1).
    @Test func halvesOutsideTheGroupAreInvalid() throws {
        let key = try TestKeys.key(.ecP256).publicKey
        let order = "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"
        let zero = String(repeating: "00", count: 32)
        let one = String(repeating: "00", count: 31) + "01"
        for halves in [zero + zero, zero + one, one + zero, order + one, one + order, order + order] {
            let signature = try ECDSASignature.der(fromFixedWidth: hex(halves))
            #expect(try !key.verify(signature, message: utf8("m"), using: .ecdsa(.sha256)))
        }
    }

    @Test func oneKeySignsForManyThreads() async throws {
        for kind in TestKeys.signingKinds {
            let key = try TestKeys.key(kind)
            let algorithm = TestKeys.algorithm(kind)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<16 {
                    group.addTask {
                        let message = utf8("message \(index)")
                        let signature = try key.sign(message: message, using: algorithm)
                        return try key.publicKey.verify(signature, message: message, using: algorithm)
                    }
                }
                for try await isValid in group { #expect(isValid) }
            }
        }
    }

    @Test(
        arguments: [
            (SignatureAlgorithm.rsaPKCS1(.sha1), DigestAlgorithm.sha1), (.rsaPSS(.sha384), .sha384),
            (.ecdsa(.sha512), .sha512), (.rsaPKCS1(nil), nil), (.ecdsa(nil), nil), (.ed25519, nil),
        ] as [(SignatureAlgorithm, DigestAlgorithm?)])
    func algorithmsNameTheirHashFunction(algorithm: SignatureAlgorithm, digest: DigestAlgorithm?) {
        #expect(algorithm.digestAlgorithm == digest)
    }

    @Test func theUsualPSSHasOneHashFunctionAndItsLengthOfSalt() {
        #expect(SignatureAlgorithm.rsaPSS(.sha384) == .rsaPSS(.sha384, mgf1: .sha384, saltLength: 48))
        #expect(RSAEncryption.oaep(.sha1) == .oaep(.sha1, mgf1: .sha1, label: []))
    }
}
