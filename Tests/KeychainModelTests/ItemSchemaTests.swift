import TestSupport
import Testing

@testable import KeychainModel

/// Compares the table of attributes with itself, with the constants and with Apple's headers.
@Suite struct ItemSchemaTests {
    @Test func everyConstantHasItsRowAndEveryRowItsConstant() throws {
        let source = try Repository.text("Sources/KeychainModel/Attributes/Attribute.swift")
        let constants = source.split(separator: "\n").compactMap { line in
            line.contains("static let") ? line.split(separator: "\"").dropFirst().first.map(String.init) : nil
        }
        #expect(constants.count > 50)
        #expect(Set(constants) == Set(AttributeDefinition.all.map(\.attribute.rawValue)))
    }

    @Test(arguments: ItemClass.allCases)
    func codesAndNamesAreUniqueWithinAClass(itemClass: ItemClass) {
        #expect(Set(itemClass.definitions.map(\.attribute)).count == itemClass.definitions.count)
        #expect(Set(itemClass.definitions.map(\.name)).count == itemClass.definitions.count)
    }

    @Test func oneCodeHasOneType() {
        for row in AttributeDefinition.all { #expect(row.attribute.type == row.type, "\(row.attribute)") }
    }

    @Test func whatMakesItemsUniqueCanBeFound() {
        for row in AttributeDefinition.all where row.isUnique { #expect(row.uses == .all, "\(row.attribute)") }
    }

    @Test func noBookkeepingColumnIsAnAttribute() {
        for row in AttributeDefinition.all { #expect(!AttributeDefinition.bookkeeping.contains(row.attribute)) }
    }

    /// Keychain semantics 1.2, the line "public name → column".
    @Test(arguments: [
        ("Label", "labl"), ("Description", "desc"), ("Comment", "icmt"), ("Creator", "crtr"), ("Type", "type"),
        ("IsInvisible", "invi"), ("IsNegative", "nega"), ("Account", "acct"), ("Service", "svce"),
        ("Generic", "gena"), ("SecurityDomain", "sdmn"), ("Server", "srvr"), ("Protocol", "ptcl"),
        ("AuthenticationType", "atyp"), ("Port", "port"), ("Path", "path"), ("CertificateType", "ctyp"),
        ("CertificateEncoding", "cenc"), ("Subject", "subj"), ("Issuer", "issr"), ("SerialNumber", "slnr"),
        ("SubjectKeyID", "skid"), ("PublicKeyHash", "pkhh"), ("KeyClass", "kcls"), ("ApplicationLabel", "klbl"),
        ("IsPermanent", "perm"), ("ApplicationTag", "atag"), ("KeyType", "type"), ("KeySizeInBits", "bsiz"),
        ("EffectiveKeySize", "esiz"), ("CanEncrypt", "encr"), ("CanDecrypt", "decr"), ("CanDerive", "drve"),
        ("CanSign", "sign"), ("CanVerify", "vrfy"), ("CanWrap", "wrap"), ("CanUnwrap", "unwp"),
        ("IsSensitive", "sens"), ("IsExtractable", "extr"), ("TokenID", "tkid"), ("AccessGroup", "agrp"),
        ("Accessible", "pdmn"), ("CreationDate", "cdat"), ("ModificationDate", "mdat"), ("Synchronizable", "sync"),
        ("AccessControl", "accc"),
    ])
    func namesAreApples(name: String, code: String) {
        let rows = AttributeDefinition.all.filter { $0.name == name }
        #expect(!rows.isEmpty)
        #expect(Set(rows.map(\.attribute.rawValue)) == [code])
    }

    /// security(1), find-generic-password, find-internet-password, find-key and create-keypair.
    @Test(arguments: [
        (
            AttributeOption.Command.passwords, ItemClass.genericPassword,
            "C type D desc G gena a acct c crtr j icmt l labl s svce"
        ),
        (
            .passwords, .internetPassword,
            "C type D desc P port a acct c crtr d sdmn j icmt l labl p path r ptcl s srvr t atyp"
        ),
        (
            .findKey, .key,
            "D desc a klbl c crtr d decr e encr j icmt l labl r drve s sign t kcls u unwp v vrfy w wrap"
        ),
        (.createKeypair, .key, "a type f sdat s bsiz t edat"), (.importing, .key, "l labl"),
    ])
    func lettersAreApples(command: AttributeOption.Command, itemClass: ItemClass, letters: String) {
        let given = command.definitions(of: itemClass).compactMap { row in
            row.option.map { "\($0.letter) \(row.attribute)" }
        }
        #expect(given.sorted().joined(separator: " ") == letters)
    }

    @Test func anOptionsValueIsWrittenAsItsTypeCanBe() {
        for row in AttributeDefinition.all {
            switch (row.option?.form, row.type) {
            case (nil, _), (.text, .string), (.text, .data), (.characters, .code), (.characters, .number): break
            case (.number, .number), (.name, .number), (.digits, .data), (.date, .date), (.flag, .boolean): break
            default: Issue.record("\(row.attribute)")
            }
        }
    }

    // Case 13, where no attribute may be named
    @Test(arguments: Array(AttributeDefinition.bookkeeping), [AttributeDefinition.Uses.add, .find, .change])
    func bookkeepingColumnsAreRefusedByName(attribute: Attribute, use: AttributeDefinition.Uses) throws {
        let error = try #require(throws: KeychainError.self) {
            try ItemClass.internetPassword.checked([attribute: .data([1])], for: use)
        }
        #expect(error.code == .param)
        #expect(error.key == attribute.rawValue)
    }

    @Test(arguments: [
        (Attribute.tokenID, AttributeDefinition.Uses.change), (.modificationDate, .change),
    ])
    func whatIsNotForAUseIsRefusedByName(attribute: Attribute, use: AttributeDefinition.Uses) throws {
        let value: AttributeValue = attribute == .modificationDate ? .date(1) : .data([1])
        let error = try #require(throws: KeychainError.self) {
            try ItemClass.genericPassword.checked([attribute: value], for: use)
        }
        #expect(error.code == .param)
        #expect(error.key == attribute.rawValue)
        #expect(try ItemClass.genericPassword.checked([attribute: value], for: .add)[attribute] == value)
    }

    // Case 11
    @Test(arguments: [AttributeDefinition.Uses.add, .find])
    func accessControlIsNeverText(use: AttributeDefinition.Uses) throws {
        let error = try #require(throws: KeychainError.self) {
            try ItemClass.genericPassword.checked([.accessControl: "ak"], for: use)
        }
        #expect(error.code == .param)
        #expect(error.key == "accc")
    }

    @Test func anEmptyPortIsNoNumber() {
        #expect(throws: KeychainError(.param)) { try ItemClass.internetPassword.checked([.port: ""]) }
        #expect(throws: Never.self) { try ItemClass.internetPassword.checked([.port: "443"]) }
    }

    @Test func protocolsAndAuthenticationsAreCodesOfFourCharacters() throws {
        #expect(InternetProtocol.named.count == 31)
        #expect(InternetAuthentication.named.count == 8)
        let values = InternetProtocol.named.map(\.value.value) + InternetAuthentication.named.map(\.value.value)
        for value in values { #expect(value.converted(to: .code) == value) }
        #expect(Set(InternetProtocol.named.map(\.value)).count == 31)
        #expect(Set(InternetAuthentication.named.map(\.value)).count == 8)
        // The named protocols are not all: macOS has 'cifs' and 'svn ' in another header.
        #expect(try ItemClass.internetPassword.checked([.protocol: "svn "]) == [.protocol: "svn "])
    }
}
