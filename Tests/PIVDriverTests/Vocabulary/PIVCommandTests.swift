import SecureBytes
import Testing
import TokenKit

@testable import PIVDriver

/// The bytes of each command, against the tables of SP 800-73-5 part 2 and what YubiKeys are sent.
@Suite struct PIVCommandTests {
    private func short(_ command: CommandAPDU) throws -> String { Hex.encode(try command.encoded(.short)) }

    @Test func select() throws {
        #expect(try short(PIVCommand.select) == "00A4040009A0000003080000100000")
    }

    @Test(arguments: [
        (PIVContainer.authenticationCertificate, "00CB3FFF055C035FC10500"), (.discovery, "00CB3FFF035C017E00"),
        (.biometricGroupTemplate, "00CB3FFF045C027F6100"), (.attestationCertificate, "00CB3FFF055C035FFF0100"),
    ])
    func getData(container: PIVContainer, bytes: String) throws {
        #expect(try short(PIVCommand.getData(container)) == bytes)
    }

    @Test func onlyLargeObjectsAreAskedForInExtendedForm() {
        #expect(PIVCommand.getData(.discovery).expectedLength == 256)
        #expect(PIVCommand.getData(.signatureCertificate).expectedLength == CommandAPDU.anyLength)
    }

    @Test func pins() throws {
        #expect(try short(PIVCommand.verify(.application)) == "00200080")
        #expect(try short(PIVCommand.verify(.global)) == "00200000")
        #expect(try short(PIVCommand.logOut(.application)) == "0020FF80")
        #expect(try short(PIVCommand.changeReferenceData(.unblocking)) == "00240081")
        #expect(try short(PIVCommand.resetRetryCounter(.application)) == "002C0080")
    }

    @Test func generalAuthenticate() throws {
        let signature = PIVCommand.generalAuthenticate(
            .p256, .authentication, field: 0x81, Array(repeating: 0xAA, count: 32), answerLength: 72,
            isConfidential: false)
        let digest = String(repeating: "AA", count: 32)
        #expect(try short(signature) == "0087119A267C2482008120\(digest)00")
        #expect(signature.confidentiality == [])

        let agreement = PIVCommand.generalAuthenticate(
            .p256, .keyManagement, field: 0x85, Array(repeating: 0x04, count: 65), answerLength: 32,
            isConfidential: true)
        #expect(try short(agreement).hasPrefix("0087119D477C4582008541"))
        #expect(agreement.confidentiality == .response)

        let rsa = PIVCommand.generalAuthenticate(
            .rsa2048, .authentication, field: 0x81, Array(repeating: 0x01, count: 256), answerLength: 256,
            isConfidential: false)
        #expect(Hex.encode(rsa.data.prefix(10)) == "7C820106820081820100")
        #expect(rsa.data.count == 266)
        #expect(rsa.expectedLength == CommandAPDU.anyLength)
    }

    @Test func yubicos() throws {
        #expect(try short(PIVCommand.version) == "00FD000000")
        #expect(try short(PIVCommand.serialNumber) == "00F8000000")
        #expect(try short(PIVCommand.metadata(0x9A)) == "00F7009A00")
        #expect(try short(PIVCommand.attest(.signature)) == "00F99C0000")
    }
}
