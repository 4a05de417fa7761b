import Foundation
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
        builder.keys[CardKeyReference.retired[0]] = .init(.p256)
        holder = try DaemonWithCard(builder.build())
        program = try ModuleProgram.compile("returns", in: folder)
        try ModuleProgram.createKeychain(in: folder, ModuleProgram.environment(in: folder))
    }

    @Test func everyListedValueIsProvokedOrCannotBe() throws {
        let provoked = try provoke("willing").union(provokeWithAnUnwillingPerson())
        let (everywhere, somewhere) = try Self.documented()
        var unexplained: [String] = []
        for (function, values) in StandardReturnValues.all {
            for value in values where !provoked.contains("\(function) \(value)") && !everywhere.contains(value) {
                if !somewhere.contains("\(function) \(value)") { unexplained.append("\(function) \(value)") }
            }
        }
        #expect(unexplained.sorted() == [])
        // Values that the documentation calls impossible do not occur.
        #expect(provoked.filter { somewhere.contains($0) }.sorted() == [])
        let listed = Set(StandardReturnValues.all.flatMap { function, values in values.map { "\(function) \($0)" } })
        #expect(somewhere.subtracting(listed).sorted() == [])
        #expect(everywhere.filter { value in provoked.contains { $0.hasSuffix(" " + value) } } == [])
    }

    /// Runs the program. Returns the functions, each with a value, that it has provoked.
    private func provoke(_ person: String, _ variables: [String: String] = [:]) throws -> Set<String> {
        let result = try ModuleProgram.run(
            program, [person], in: folder, service: holder.daemon.socketPath, variables
        ) { [holder] wish in try Self.grant(wish, holder) }
        #expect(result.status == 0, "\(result)")
        return Set(result.text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("C_") })
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
            "unwilling",
            [
                "PINENTRY_PROGRAM": folder.path("pinentry"), "TOKENKIT_PKCS11_PROMPT": "returns",
                "TOKENKIT_PKCS11_TOKENS": "cards",
            ])
    }

    private static func grant(_ wish: String, _ holder: DaemonWithCard) throws {
        func answer(_ status: UInt16) {
            for index in 0..<64 { holder.link.faults.order(.status(.init(rawValue: status)), at: index) }
        }
        switch wish {
        case "fail": answer(0x6F42)
        case "refuse": answer(0x6985)
        case "heal": holder.link.faults.clear()
        case "remove":
            holder.link.remove()
            try holder.waitForNoCard()
        default:
            holder.link.insert()
            try holder.waitForCard()
        }
    }

    /// The values that cannot be provoked, by the documentation: `everywhere` for any function, `somewhere` for one.
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
