import Foundation
import KeychainHost
import KeychainModel
import ModuleConfiguration
import PKCS11Driver
import SystemCrypto
import TestSupport
import Testing
import TokenKit

/// A module that misbehaves harms only its own process: the host reports it, and goes on.
@Suite struct MisbehavingModuleTests {
    private static let patience = WorkerPatience(listing: .seconds(3), use: .seconds(3))

    private static func certificates(_ modules: [PKCS11Module]) throws -> Outcome<[Item]> {
        try SearchList(members: modules.map { ModuleKeychain($0) }).items(matching: Query(.certificate, limit: .all))
    }

    @Test func oneThatBehavesShowsItsCertificateAndItsKey() throws {
        try ForeignModule.with(["well"]) { modules in
            let found = try Self.certificates(modules)
            #expect(found.found.map(\.label) == ["one"])
            #expect(found.missing.isEmpty)
            #expect(try ModuleKeychain(modules[0]).keys(.name("09")).count == 1)
        }
    }

    @Test(arguments: [
        ("crash in load", "signal 11"), ("crash in C_Initialize", "signal 11"), ("crash in C_GetSlotList", "signal 11"),
        ("crash in C_GetTokenInfo", "signal 11"), ("crash in C_FindObjects", "signal 11"),
        ("crash in C_GetAttributeValue", "signal 11"), ("crash in C_CloseSession", "signal 11"),
        ("fork and crash in C_GetSlotList", "signal 11"), ("fork and crash in C_FindObjects", "signal 11"),
        ("exit in load", "exited with 0"), ("exit in C_GetSlotList", "exited with 0"),
        ("hang in C_Initialize", "did not answer in time"), ("hang in C_FindObjects", "did not answer in time"),
        ("spin in C_GetTokenInfo", "did not answer in time"),
        ("nonsense from C_Initialize", "0xDEADBEEF"), ("nonsense from C_GetSlotList", "0xDEADBEEF"),
        ("nonsense from C_FindObjects", "0xDEADBEEF"), ("has a million slots", "1000000 slots"),
        ("finds without end", "more than 4096 objects"), ("finds more than there is room for", "100000 objects"),
        ("closes every descriptor", "ended"), ("has no functions", "C_GetFunctionList gives no list"),
        ("has empty functions", "no C_Initialize"), ("says it is ours", "this product's own"),
    ])
    func oneThatFailsIsReportedAndHidesNothing(behaviour: String, report: String) throws {
        try ForeignModule.with([behaviour, "well"], Self.patience) { modules in
            // Twice: a module that ended is started again.
            for _ in 0..<2 {
                let result = try Self.certificates(modules)
                #expect(result.found.map(\.label) == ["one"])
                #expect(result.missing.map(\.place) == [.module])
                let text = result.missing.map(\.error.description).joined()
                #expect(text.contains(report) && text.contains("misbehaving"), "\(text)")
            }
        }
    }

    @Test(arguments: [
        "has a certificate of a terabyte", "has a certificate that grows", "has a certificate of nonsense",
        "nonsense from C_GetTokenInfo", "nonsense from C_GetAttributeValue",
    ])
    func whatCannotBeReadIsLeftOut(behaviour: String) throws {
        try ForeignModule.with([behaviour], Self.patience) { modules in
            let result = try Self.certificates(modules)
            #expect(result.found.isEmpty)
        }
    }

    /// A module cannot reach the standard output and the descriptors of the host.
    @Test(arguments: ["prints", "leaves a child behind", "describes in nonsense", "nonsense from C_CloseSession"])
    func whatDoesNotConcernTheHostChangesNothing(behaviour: String) throws {
        try ForeignModule.with([behaviour], Self.patience) { modules in
            let result = try Self.certificates(modules)
            #expect(result.found.map(\.label) == ["one"])
            #expect(result.missing.isEmpty)
        }
    }

    @Test(arguments: [
        ("well", "the signature does not verify"), ("signs at any length", "C_Sign says it wrote"),
        ("crash in C_Sign", "signal 11"), ("hang in C_Sign", "did not answer in time"),
        ("nonsense from C_SignInit", "0xDEADBEEF"),
    ])
    func aSignatureThatIsNoneIsNotPassedOn(behaviour: String, report: String) throws {
        let patience = WorkerPatience(listing: .seconds(3), use: .seconds(3), rest: .zero)
        try ForeignModule.with([behaviour], patience) { modules in
            let keychain = ModuleKeychain(modules[0])
            let key = try #require(try keychain.keys(.name("09")).first)
            var text = "nothing"
            do {
                _ = try key.perform(
                    .sign(.rsaPKCS1(.sha256), [UInt8](repeating: 1, count: 32)), use: "test",
                    authentication: AuthenticationContext())
            } catch {
                text = "\(error)"
            }
            #expect(text.contains(report), "\(text)")
            // The next question finds a module that answers again.
            #expect(try keychain.keys(.name("09")).count == 1)
        }
    }

    @Test func oneThatDoesNotStartCannotBeUsed() throws {
        try ForeignModule.with(["nonsense from C_Initialize", "well"], Self.patience) { modules in
            let error = try #require(try Self.certificates(modules).missing.first?.error)
            #expect(error.code == .deviceFailed)
            #expect(error.reason.contains("cannot be used: C_Initialize failed with CKR 0xDEADBEEF"))
        }
    }

    @Test func oneThatOnlyEndsIsNotStartedForEver() throws {
        let foreign = try ForeignModule(behaving: "crash in C_GetSlotList")
        let starts = try foreign.folder.write("starts", "")
        let worker = WorkerProgram(
            path: "/bin/sh",
            arguments: ["sh", "-c", "echo >>'\(starts)'; exec \"$@\"", "sh"] + ForeignModule.worker(for: "tokenctl"))
        // Each worker ends by itself, which a busy machine may take a while to start.
        let module = PKCS11Module(
            ConfiguredModule(path: foreign.path), worker: worker, patience: WorkerPatience(listing: .seconds(60)))
        for _ in 0..<5 {
            #expect { try Self.certificates([module]) } throws: { "\($0)".contains("ended: it died of signal 11") }
        }
        #expect(try String(contentsOfFile: starts, encoding: .utf8) == "\n\n\n")
    }

    /// Each time, the module answers the calls before, in a process that is started anew.
    @Test(arguments: ["hang in C_GetTokenInfo", "hang in C_OpenSession", "hang in C_FindObjectsInit"])
    func oneThatDoesNotAnswerIsAskedOnceAndNotAgain(behaviour: String) throws {
        let patience = WorkerPatience(listing: .seconds(2), use: .seconds(2))
        try ForeignModule.with([behaviour], patience) { modules in
            var reports: Set<String> = []
            let duration = ContinuousClock().measure {
                for _ in 0..<10 {
                    do { _ = try Self.certificates(modules) } catch { reports.insert("\(error)") }
                }
            }
            #expect(duration < .seconds(12))
            #expect(reports.count == 1 && reports.first?.contains("did not answer in time") == true, "\(reports)")
        }
    }

    @Test func oneThatDidNotAnswerIsTriedAgainAfterARest() throws {
        let patience = WorkerPatience(listing: .seconds(3), use: .milliseconds(200), rest: .seconds(2))
        try ForeignModule.with(["hang in C_Sign"], patience) { modules in
            let keychain = ModuleKeychain(modules[0])
            let key = try #require(try keychain.keys(.name("09")).first)
            #expect(throws: KeychainError.self) {
                _ = try key.perform(
                    .sign(.rsaPKCS1(.sha256), [UInt8](repeating: 1, count: 32)), use: "test",
                    authentication: AuthenticationContext())
            }
            #expect(throws: KeychainError.self) { try keychain.keys(.name("09")) }
            #expect(eventually { (try? keychain.keys(.name("09")))?.count == 1 })
        }
    }

    @Test func whatIsNoModuleIsSaidToBeNone() {
        for (path, report) in [("/nothing/x.so", "No such file"), ("/proc/self/exe", "cannot")] {
            let module = PKCS11Module(
                ConfiguredModule(path: path),
                worker: .tokenkitd(at: Program.host, for: "tokenctl"))
            #expect { try Self.certificates([module]) } throws: { "\($0)".contains(report) }
        }
    }

    @Test func aWorkerThatCannotBeStartedIsAnError() {
        let module = PKCS11Module(
            ConfiguredModule(path: "/nothing/x.so"), worker: WorkerProgram(path: "/nothing", arguments: ["nothing"]))
        #expect { try Self.certificates([module]) } throws: { "\($0)".contains("cannot be started") }
    }
}
