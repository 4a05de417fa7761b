import KeychainHost
import KeychainModel
import SecureBytes

/// A fixed sequence of additions, updates and deletions, so that the content of a keychain after each step is known.
///
/// Every five steps: `a` is added, `b` is added, `a` gets another secret, `b` is deleted, and a name is added that all
/// processes want.
struct MixedChanges {
    let prefix: String

    /// The account that a step is about.
    func account(_ step: Int) -> String {
        switch step % 5 {
        case 0, 2: "\(prefix)-\(step / 5)a"
        case 1, 3: "\(prefix)-\(step / 5)b"
        default: "contested-\(step / 5 % 8)"
        }
    }

    /// Whether the step is about the same account in all processes.
    func isContested(_ step: Int) -> Bool { step % 5 == 4 }

    func perform(_ step: Int, in keychain: LocalKeychain) throws {
        let account = account(step)
        let query = try Query(.genericPassword, [.account: .string(account), .service: "mixed"], limit: .all)
        switch step % 5 {
        case 2: try keychain.update(matching: query, to: ItemChanges([.label: "new"], secret: secret(account, "new")))
        case 3: try keychain.delete(matching: query)
        default:
            do throws(KeychainError) {
                try keychain.add(
                    .genericPassword(
                        [.account: .string(account), .service: "mixed", .label: "old"], secret: secret(account, "old")))
            } catch {
                guard isContested(step), error.code == .duplicateItem else { throw error }
            }
        }
    }

    private func secret(_ account: String, _ version: String) -> Secret {
        var bytes = Array("\(version) secret of \(account)".utf8)
        return Secret(consuming: &bytes)
    }
}
