extension PublicKey {
    /// Whether the key has the form of the RSA keys that Infineon's library made, which everybody can compute from their public half:
    /// CVE-2017-15361 (ROCA). The chance that another key has it is below one in a hundred million.
    ///
    /// The primes of such a key are k · M + (65537^a mod M), where M is the product of the first primes. Its modulus is a power of 65537
    /// modulo each of them. Nemec et al., "The Return of Coppersmith's Attack", §2.
    public var isROCA: Bool {
        guard let modulus = rsaComponents?.modulus else { return false }
        return PublicKey.primesOfROCA.allSatisfy { prime in
            PublicKey.isPower(of: 65_537, modulus.reduce(0) { ($0 << 8 | UInt32($1)) % prime }, modulo: prime)
        }
    }

    /// The primes below 160 for which the powers of 65537 are not all residues.
    private static let primesOfROCA: [UInt32] = [
        11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157,
    ]

    private static func isPower(of base: UInt32, _ residue: UInt32, modulo prime: UInt32) -> Bool {
        var power: UInt32 = 1
        repeat {
            if power == residue { return true }
            power = power * (base % prime) % prime
        } while power != 1
        return false
    }
}
