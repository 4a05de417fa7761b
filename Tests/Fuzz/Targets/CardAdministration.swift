internal import Foundation
internal import HostAPI
internal import KeychainHost
internal import PIVDriver
internal import Platform
internal import SecureBytes
internal import SystemCrypto

// Objects that decide about a card's management key, and files that its administration reads.
extension FuzzTarget {
    /// Checks that administrative data, once read and written, are written the same way again.
    func rewriteAdministrativeData(_ input: [UInt8]) throws(Finding) {
        guard let written = (try? AdministrativeData(parsing: input))?.encoded else { return }
        try expect((try? AdministrativeData(parsing: written))?.encoded ?? [], ifAny: written)
    }

    /// Checks that a kept management key, and the one that is about to take its place, are read again as they were written.
    func rewriteKeptKey(_ input: [UInt8]) throws(Finding) {
        let written: Secret
        do {
            let kept = try KeptManagementKey(parsing: input.span)
            guard let key = kept.key?.clone() else { return }
            written = KeptManagementKey.encoded(key, next: kept.next?.clone())
        } catch {
            return
        }
        var isSame = false
        if let again = try? KeptManagementKey(parsing: written.bytes), let key = again.key?.clone() {
            isSame = KeptManagementKey.encoded(key, next: again.next?.clone()).equals(written)
        }
        guard isSame else { throw Finding(description: "\(self): \(Hex.encode(input)) is not read again") }
    }

    /// Checks that the keys of a file can be given to a card.
    func importFile(_ input: [UInt8]) throws(Finding) {
        var request = ImportRequest(SharedSecret(Secret(copying: input.span)), named: "file")
        request.passphrase = .given(SharedSecret(Secret(copying: Array("secret".utf8).span)))
        request.refusesSeveralKeys = true
        guard let content = try? FuzzTarget.importer.importFile(request, RequestContext(questions: .never)).content
        else { return }
        guard case .objects(_, _, let keys) = content, keys.count <= 1 else {
            throw Finding(description: "\(self): \(Hex.encode(input)) has \(content)")
        }
        for key in keys where (try? PrivateKey(encoded: key.secret)) == nil {
            throw Finding(description: "\(self): \(Hex.encode(input)) has a key that cannot be read")
        }
    }

    /// A host without cards and keychains.
    private static let importer = Host(
        ProcessKeychains(
            KeychainPreferences(directories: Directories(system: "/nonexistent") { _ in "/nonexistent" }),
            readers: { [] }), prompter: NoPrompter())

    /// Checks that the extensions of a file, once written, are read again as they were.
    func rewriteExtensions(_ input: [UInt8]) throws(Finding) {
        guard let extensions = try? CertificateExtension.all(in: input) else { return }
        let written = extensions.flatMap(\.encoded)
        guard let again = try? CertificateExtension.all(in: written), again == extensions else {
            throw Finding(description: "\(self): \(Hex.encode(input)) came out as \(Hex.encode(written))")
        }
    }
}
