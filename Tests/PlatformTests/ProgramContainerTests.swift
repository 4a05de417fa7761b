import Foundation
import TestSupport
import Testing

@testable import Platform

@Suite struct ProgramContainerTests {
    /// `sleep` in a root folder of its own.
    ///
    /// - Parameter preparation: shell code that runs in that folder before.
    private func contained(_ preparation: String) throws -> ProgramIdentity {
        let folder = try TemporaryFolder()
        let script = """
            mount -t tmpfs none "$0" && cd "$0"
            for name in usr lib lib64 bin; do
                if [ -L "/$name" ]; then cp -P "/$name" .
                elif [ -d "/$name" ]; then mkdir "$name" && mount --rbind "/$name" "$name"; fi
            done
            \(preparation)
            exec chroot . "$1" 600
            """
        let program = try RunningProgram(
            RunningProgram.inMountNamespace + ["sh", "-euc", script, folder.path, RunningProgram.sleep],
            running: "sleep")
        return try program.identity
    }

    private func container(of identity: ProgramIdentity) -> ProgramContainer? {
        guard case .contained(let container, digest: _) = identity.id, container == identity.container else {
            return nil
        }
        return container
    }

    private static let information =
        "printf '[Application]\\nname=org.example.App\\nruntime=x\\n\\n[Instance]\\nname=other\\n'"

    @Test func anApplicationOfFlatpakIsToldByItsId() throws {
        let identity = try contained("\(Self.information) >.flatpak-info")
        #expect(container(of: identity) == .flatpak("org.example.App"))
    }

    @Test(arguments: [
        "", "\(information) >real; ln -s real .flatpak-info", "mkdir .flatpak-info", "mkfifo .flatpak-info",
        "printf '[Application]\\nname=a/b c\\n' >.flatpak-info", ": >.flatpak-info",
        "printf '[Instance]\\nname=org.example.App\\n' >.flatpak-info",
    ])
    func aSandboxWithoutUsableInformationIsOnlyToldAsSuch(preparation: String) throws {
        #expect(container(of: try contained(preparation)) == .other)
    }

    @Test(arguments: [
        ("snap.firefox.firefox (enforce)\n", "firefox"), ("snap.a_b.hook.configure", "a_b"), ("unconfined\n", nil),
        ("snap.x", nil),
        ("snap..y.z", nil), ("snap.a b.c", nil), ("unconfined_u:unconfined_r:unconfined_t:s0", nil), ("", nil),
    ])
    func aSnapIsToldByItsLabel(label: String, snap: String?) {
        #expect(ProgramContainer.snap(inLabel: label) == snap)
    }

    @Test func aSnapIsToldByItsControlGroup() {
        let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice"
        #expect(ProgramContainer.snap(inGroups: "\(user)/snap.code.code-1234-5678.scope\n") == "code")
        #expect(ProgramContainer.snap(inGroups: "\(user)/app-gnome-x.scope\n") == nil)
        #expect(ProgramContainer.snap(inGroups: "") == nil)
    }
}
