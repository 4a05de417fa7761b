import Glibc
import KeychainHost
import KeychainModel
import SecureBytes

/// A separate process for tests that need more than one. The password comes from standard input.
///
///     KeychainWriter create KEYCHAIN               creates it, and says so once it is there
///     KeychainWriter make NAME                     creates it as `tokenctl create-keychain` does, and prints its path
///     KeychainWriter write KEYCHAIN PREFIX COUNT   adds passwords PREFIX-0 …, printing each account once it is stored
///     KeychainWriter mix KEYCHAIN PREFIX           adds, updates and deletes until it is killed, printing each step once done
///     KeychainWriter hold KEYCHAIN lock|keep       reads every secret, locks or not, says so, and waits to be killed
///     KeychainWriter rekey KEYCHAIN OTHER          gives it new keys, and the password OTHER and its own in turn, until it is killed
///     KeychainWriter fill KEYCHAIN                 creates it, adds passwords until that fails, and prints what is there
///     KeychainWriter full KEYCHAIN                 creates it, fills the disk, opens it, and prints what can be done with it
///     KeychainWriter share KEYCHAIN SECONDS        unlocks, and leaves the key in the login session
///     KeychainWriter read-shared KEYCHAIN          unlocks from the login session, and prints how many secrets it read
///     KeychainWriter benchmark FOLDER COUNT        compares adding COUNT rows, and searches, with plain SQLite
///     KeychainWriter memory KEYCHAIN               prints the most memory it took to hold it open and search it, in KiB
@main
enum KeychainWriter {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            try run(arguments)
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        switch (arguments.first, arguments.count) {
        case ("create", 2):
            report("ready")
            _ = try LocalKeychain.create(at: arguments[1], password: password(), cost: .negligible)
            report("created")
        case ("make", 2):
            print(try KeychainPreferences().create(arguments[1], password: password(), cost: .negligible).path)
        case ("write", 4): try write(to: arguments[1], prefix: arguments[2], count: Int(arguments[3]) ?? 0)
        case ("mix", 3): try mix(arguments[1], prefix: arguments[2])
        case ("hold", 3): try hold(arguments[1], isLocking: arguments[2] == "lock")
        case ("rekey", 3): try rekey(arguments[1], other: arguments[2])
        case ("fill", 2): try fill(arguments[1])
        case ("full", 2): try FullDisk(path: arguments[1], password: readLine() ?? "").run()
        case ("benchmark", 3):
            try StoreBenchmark(folder: arguments[1], rows: Int(arguments[2]) ?? 1000).run()
            try SearchBenchmark(folder: arguments[1]).run()
        case ("memory", 2): try reportMemory(holding: arguments[1])
        default:
            print("usage: KeychainWriter create|make|write|mix|hold|rekey|fill|full|benchmark …")
            exit(2)
        }
    }

    private static func write(to path: String, prefix: String, count: Int) throws {
        let keychain = try LocalKeychain.open(path)
        try keychain.unlock(password: password())
        report("ready")
        for number in 0..<count {
            let account = "\(prefix)-\(number)"
            var bytes = Array("secret of \(account)".utf8)
            try keychain.add(
                .genericPassword([.account: .string(account), .service: "writer"], secret: Secret(consuming: &bytes)))
            report(account)
        }
    }

    private static func mix(_ path: String, prefix: String) throws {
        let keychain = try LocalKeychain.open(path)
        try keychain.unlock(password: password())
        report("ready")
        let changes = MixedChanges(prefix: prefix)
        for step in 0... {
            try changes.perform(step, in: keychain)
            report("\(step)")
        }
    }

    private static func hold(_ path: String, isLocking: Bool) throws {
        let keychain = try LocalKeychain.open(path)
        try keychain.unlock(password: password())
        _ = try readAll(keychain)
        if isLocking { keychain.lock() }
        report(isLocking ? "locked" : "unlocked")
        withExtendedLifetime(keychain) {
            while true { pause() }
        }
    }

    private static func rekey(_ path: String, other: String) throws {
        let keychain = try LocalKeychain.open(path)
        var bytes = Array(other.utf8)
        let first = password()
        let second = Secret(consuming: &bytes)
        report("ready")
        for step in 0... {
            let cost = ScryptCost.negligible
            if step.isMultiple(of: 2) {
                try keychain.rekey(from: first, to: second, cost: cost)
            } else {
                try keychain.rekey(from: second, to: first, cost: cost)
            }
            report("\(step)")
        }
    }

    private static func fill(_ path: String) throws {
        let keychain = try LocalKeychain.create(at: path, password: password(), cost: .negligible)
        var (count, failure) = (0, "")
        while failure.isEmpty {
            var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: 2000)
            do {
                try keychain.add(.genericPassword([.account: .string("\(count)")], secret: Secret(consuming: &bytes)))
                count += 1
            } catch {
                failure = "\(error)"
            }
        }
        print(failure)
        let other = try LocalKeychain.open(path)
        let items = try other.items(matching: Query(.genericPassword, limit: .all))
        print(
            "added \(count), found \(items.found.count), readable \(try readAll(keychain)), damaged \(items.missing.count)"
        )
        print("deleted \(try keychain.delete(matching: Query(.genericPassword, limit: .all)))")
        var bytes: [UInt8] = [1]
        try keychain.add(.genericPassword([.account: "again"], secret: Secret(consuming: &bytes)))
        print("added again")
    }

    private static func readAll(_ keychain: LocalKeychain) throws -> Int {
        let items = try keychain.items(matching: Query(.genericPassword, limit: .all)).found
        return try items.count { item in try keychain.secret(of: item.reference) != nil }
    }

    private static func reportMemory(holding path: String) throws {
        let keychain = try LocalKeychain.open(path)
        for number in 0..<100 {
            _ = try keychain.items(matching: Query(.genericPassword, [.account: .string("account \(number)")]))
        }
        var usage = rusage()
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        print(usage.ru_maxrss)
    }

    private static func password() -> Secret {
        var bytes = Array((readLine() ?? "").utf8)
        return Secret(consuming: &bytes)
    }

    /// One line in one write, so that what a killed process reported is known exactly.
    private static func report(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}

extension ScryptCost {
    /// A guess at the password costs nothing.
    static let negligible = ScryptCost(n: 2, r: 1, p: 1)
}
