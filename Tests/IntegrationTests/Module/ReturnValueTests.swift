import Foundation
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// Every return value that the standard lists for a function is provoked, or Documentation/return-values.md says why it cannot be.
@Suite struct ReturnValueTests {
    private let folder: TemporaryFolder
    private let holder: DaemonWithCard
    private let program: String

    init() throws {
        folder = try TemporaryFolder()
        var builder = VirtualCardBuilder(profile: .generic)
        builder.keys[.authentication] = .init(.rsa2048)
        builder.keys[.signature] = .init(.p256)
        builder.keys[.keyManagement] = .init(.rsa2048)
        builder.keys[.cardAuthentication] = .init(.p256)
        holder = try DaemonWithCard(builder.build())
        program = try ModuleProgram.compile("returns", in: folder)
        try ModuleProgram.createKeychain(in: folder, ModuleProgram.environment(in: folder))
    }

    @Test func everyListedValueIsProvokedOrCannotBe() throws {
        let provoked = try provoke("returns", folder.path).union(provokeWithAnUnwillingPerson())
        let (everywhere, somewhere) = try Self.documented()
        var unexplained: [String] = []
        for (function, values) in StandardReturnValues.all {
            for value in values where !provoked.contains("\(function) \(value)") && !everywhere.contains(value) {
                if !somewhere.contains("\(function) \(value)") { unexplained.append("\(function) \(value)") }
            }
        }
        #expect(unexplained.sorted() == [])
        // What is said not to be possible is not.
        #expect(provoked.filter { somewhere.contains($0) }.sorted() == [])
        let listed = Set(StandardReturnValues.all.flatMap { function, values in values.map { "\(function) \($0)" } })
        #expect(somewhere.subtracting(listed).sorted() == [])
        #expect(everywhere.filter { value in provoked.contains { $0.hasSuffix(" " + value) } } == [])
    }

    /// Runs the program and does what it asks for. Returns what it provoked: functions, each with a value.
    private func provoke(
        _ name: String, _ argument: String, _ variables: [String: String] = [:]
    ) throws -> Set<String> {
        let out = folder.path(name + ".out")
        let run = Run()
        run.attendant.enter()
        Thread { [holder, folder] in
            defer { run.attendant.leave() }
            var answered = 0
            while !run.hasEnded.load(ordering: .acquiring) {
                let text = (try? String(contentsOfFile: out, encoding: .utf8)) ?? ""
                let asked = text.split(separator: "\n").filter { $0.hasPrefix("? ") }.map { String($0.dropFirst(2)) }
                for wish in asked.dropFirst(answered) {
                    Self.fulfil(wish, holder)
                    answered += 1
                    _ = try? folder.write("answer-\(answered)", "")
                }
                usleep(10_000)
            }
        }.start()
        let environment = ModuleProgram.environment(in: folder).merging(holder.daemon.environment) { $1 }
        let result = try Program.run(
            ["sh", "-c", "'\(program)' '\(ModuleProgram.module)' '\(argument)' >'\(out)'"],
            environment: environment.merging(variables) { $1 })
        run.hasEnded.store(true, ordering: .releasing)
        run.attendant.wait()
        #expect(result.status == 0, "\(result)")
        let lines = try String(contentsOfFile: out, encoding: .utf8).split(separator: "\n").map(String.init)
        return Set(lines.filter { $0.hasPrefix("C_") })
    }

    /// A run of the program, and who does meanwhile what it asks for.
    private final class Run: Sendable {
        let hasEnded = Atomic(false)
        let attendant = DispatchGroup()
    }

    private func provokeWithAnUnwillingPerson() throws -> Set<String> {
        try folder.writeProgram(
            "pinentry",
            """
            echo 'OK ready'
            while read -r command text; do
                case $command in
                    GETPIN) echo 'ERR 83886179 cancelled' ;;
                    *) echo OK ;;
                esac
            done
            """)
        return try provoke(
            "unwilling", "unwilling",
            [
                "PINENTRY_PROGRAM": folder.path("pinentry"), "TOKENKIT_PKCS11_PROMPT": "always",
                "TOKENKIT_PKCS11_TOKENS": "cards",
            ])
    }

    private static func fulfil(_ wish: String, _ holder: DaemonWithCard) {
        func answer(_ status: UInt16) {
            for index in 0..<64 { holder.link.faults.order(.status(.init(rawValue: status)), at: index) }
        }
        switch wish {
        case "fail": answer(0x6F42)
        case "refuse": answer(0x6985)
        case "heal": holder.link.faults.clear()
        case "remove":
            holder.link.remove()
            try? holder.waitForNoCard()
        default:
            holder.link.insert()
            try? holder.waitForCard()
        }
    }

    /// What the documentation says cannot be provoked: by any function, and by some.
    private static func documented() throws -> (everywhere: Set<String>, somewhere: Set<String>) {
        var (everywhere, somewhere): (Set<String>, Set<String>) = ([], [])
        for row in try Repository.text("Documentation/return-values.md").split(separator: "\n") {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[0].hasPrefix("`CKR_") else { continue }
            for value in cells[0].matches(of: /CKR_\w+/).map({ String($0.0) }) {
                let functions = cells[1].matches(of: /C_\w+/).map { String($0.0) }
                if functions.isEmpty { everywhere.insert(value) }
                somewhere.formUnion(functions.map { "\($0) \(value)" })
            }
        }
        return (everywhere, somewhere)
    }
}
