import Glibc
import KeychainHost
import KeychainModel
import SecureBytes

/// A keychain that is opened on a disk which is full by then.
struct FullDisk {
    let path: String
    let password: String

    private var filler: String { path + ".filler" }

    private var secret: Secret {
        var bytes = Array(password.utf8)
        return Secret(consuming: &bytes)
    }

    func run() throws {
        try make()
        try fill()
        let keychain = try LocalKeychain.open(path)
        try keychain.unlock(password: secret)
        print("read \(try count(keychain)), read-only \(keychain.isReadOnly)")
        for (name, change) in try changes() {
            do {
                try change(keychain)
                print("\(name): done")
            } catch {
                print("\(name): \(error)")
            }
        }
        print("read \(try count(keychain))")
        unlink(filler)
        let other = try LocalKeychain.open(path)
        try other.unlock(password: secret)
        try add("other", to: other)
        print("with room, read \(try count(keychain))")
        try add("same", to: keychain)
        print("added, read \(try count(keychain)), \(try count(other))")
    }

    private func make() throws {
        let keychain = try LocalKeychain.create(at: path, password: secret, cost: .negligible)
        for account: AttributeValue in ["a", "b"] { try add(account, to: keychain) }
    }

    private func fill() throws {
        let file = open(filler, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw KeychainError(.io) }
        defer { close(file) }
        let bytes = [UInt8](repeating: 0, count: 4096)
        while write(file, bytes, bytes.count) > 0 {}
    }

    private func changes() throws -> [(String, (LocalKeychain) throws -> Void)] {
        let all = try Query(.genericPassword, limit: .all)
        return [
            ("add", { try add("c", to: $0) }),
            ("update", { try $0.update(matching: all, to: ItemChanges([.label: "x"])) }),
            ("delete", { try $0.delete(matching: all) }),
            ("settings", { try $0.change(KeychainSettings(lockInterval: 60)) }),
            ("password", { try $0.changePassword(from: secret, to: secret) }), ("unbind", { try $0.unbind() }),
        ]
    }

    private func add(_ account: AttributeValue, to keychain: LocalKeychain) throws {
        var bytes: [UInt8] = [1, 2, 3]
        try keychain.add(.genericPassword([.account: account], secret: Secret(consuming: &bytes)))
    }

    private func count(_ keychain: LocalKeychain) throws -> Int {
        let items = try keychain.items(matching: Query(.genericPassword, limit: .all)).found
        return try items.count { item in try keychain.secret(of: item.reference) != nil }
    }
}
