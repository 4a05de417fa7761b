import SystemCrypto
import Testing
import TokenKit
import VirtualCard

/// Every card profile is listed and signs, and no card loses a try.
@Suite struct ProfileTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    /// Profiles of contactless use, which withholds most of a card.
    static let overTheAir = ["contactless", "idemia-id-one"]
    static let byContacts = CardProfile.all.map(\.name).filter { !overTheAir.contains($0) }

    private func desk(_ name: String) throws -> Desk {
        try Desk(IssuedCard(profile: try #require(CardProfile.named(name))))
    }

    @Test(arguments: byContacts)
    func everyCertificateIsListed(name: String) throws {
        let inventory = try desk(name).inventory()
        #expect(inventory.objects.map(\.id.rawValue).prefix(4) == ["9A", "9C", "9D", "9E"])
        #expect(inventory.objects.allSatisfy { $0.certificate != nil })
        #expect(inventory.failures.isEmpty)
    }

    @Test(arguments: byContacts)
    func itIsKnownByItsGUID(name: String) throws {
        #expect(try desk(name).identity().id.instance == "7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c")
    }

    @Test(arguments: byContacts.filter { $0 != "pivapplet-jc22" }, ["9A", "9C", "9D"])
    func everyKeySigns(name: String, key: String) throws {
        let desk = try desk(name)
        for _ in 0..<2 {
            let signature = try desk.perform(key, .sign(.ecdsa(nil), digest), pin: "123456")
            let reference = CardKeyReference(rawValue: try #require(UInt8(key, radix: 16)))
            #expect(try IssuedCard.publicKey(reference, .p256).verify(signature, digest: digest, using: .ecdsa(nil)))
        }
        #expect(desk.card.triesLeft == 3)
        #expect(desk.pinsSent == 2)
    }

    @Test(arguments: byContacts)
    func anRSAKeySignsAndDecrypts(name: String) throws {
        var issued = IssuedCard(profile: try #require(CardProfile.named(name)))
        issued.keys = [0x9D: .rsa2048]
        let desk = try Desk(issued)
        let key = try IssuedCard.publicKey(0x9D, .rsa2048)
        let signature = try desk.perform("9D", .sign(.rsaPKCS1(.sha256), digest), pin: "123456")
        #expect(try key.verify(signature, digest: digest, using: .rsaPKCS1(.sha256)))
        let ciphertext = try key.encrypt(digest.span, using: .oaep(.sha256))
        #expect(try desk.perform("9D", .decrypt(.oaep(.sha256), ciphertext)) == digest)
    }

    @Test(arguments: byContacts)
    func askingForEverythingSpendsNoTry(name: String) throws {
        let desk = try desk(name)
        _ = try desk.facts()
        _ = try desk.status()
        _ = try desk.status(.unblockingKey)
        #expect(desk.pinsSent == 0)
        #expect(desk.card.triesLeft == 3)
    }

    @Test(arguments: overTheAir)
    func overTheAirThereIsCardAuthentication(name: String) throws {
        let desk = try desk(name)
        let inventory = try desk.inventory()
        #expect(inventory.objects.map(\.id.rawValue) == ["9E"])
        #expect(Set(inventory.failures.keys.map(\.rawValue)) == ["9A", "9C", "9D", "key-history"])
        #expect(inventory.failures.values.allSatisfy { $0.code == .conditionsNotSatisfied })
        let signature = try desk.perform("9E", .sign(.ecdsa(nil), digest))
        #expect(try IssuedCard.publicKey(0x9E, .p256).verify(signature, digest: digest, using: .ecdsa(nil)))
    }
}
