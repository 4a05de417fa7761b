import Foundation
import SystemCrypto
import TestSupport
import Testing

/// The units of the session's host, under a service manager of the user's own.
@Suite struct ServiceUnitTests {
    private let card: ConsumerCard

    init() throws {
        card = try ConsumerCard(["9A": .ecP256], variables: ["TOKENKIT_HOST": "session"])
        try card.writePinentry()
        let units = card.path("units")
        try FileManager.default.createDirectory(atPath: units, withIntermediateDirectories: false)
        let sources = Program.packageRoot.appending(path: "Sources/tokenkitd/systemd").path(percentEncoded: false)
        for name in try FileManager.default.contentsOfDirectory(atPath: sources) {
            let unit = try String(contentsOfFile: "\(sources)/\(name)", encoding: .utf8)
            try card.folder.write(
                "units/\(name)", unit.replacing("@PREFIX@/libexec/tokenkitd", with: Program.host))
        }
    }

    /// Runs a script of bash beside systemd, in namespaces that end with it, and gives the lines of its output.
    private func lines(_ script: String, at location: SourceLocation = #_sourceLocation) throws -> [String] {
        let manager = """
            mount -t tmpfs tmpfs /run
            mkdir -p /run/systemd/system /run/outside
            # The card service is in a process that is outside.
            mount --bind /proc /run/outside
            mount -t proc proc /proc
            export PCSCLITE_CSOCK_NAME="/run/outside${PCSCLITE_CSOCK_NAME#/proc}"
            /lib/systemd/systemd --user --unit=basic.target >"$0" 2>&1 &
            for _ in {1..600}; do ! systemctl --user is-active basic.target >/dev/null 2>&1 || break; sleep 0.1; done
            start() { systemctl --user start tokenkit.socket tokenkit-ssh.socket tokenkit-remote.socket; }
            state() { systemctl --user show --value -p ActiveState "$@"; }
            main() { systemctl --user show --value -p MainPID tokenkit.service; }
            eventually() { for _ in {1..600}; do ! eval "$1" || return 0; sleep 0.1; done; echo "never: $1"; }
            eval "$1"
            """
        let own = geteuid() == 0 ? [] : ["--user", "--map-current-user", "--keep-caps"]
        let result = try card.run(
            ["unshare"] + own
                + ["--mount", "--pid", "--fork", "bash", "-euc", manager, card.path("log"), script],
            [
                "SYSTEMD_UNIT_PATH": card.path("units") + ":/usr/lib/systemd/user",
                "PINENTRY_PROGRAM": card.path("pinentry"), "PATH": Program.path + ":/usr/bin:/bin",
                "SSH_AUTH_SOCK": card.path("run/tokenkit/ssh.sock"),
            ])
        let log = (try? card.text("log")) ?? ""
        #expect(result.status == 0, "\(result)\n\(log)", sourceLocation: location)
        return result.text.split(separator: "\n").map(String.init)
    }

    @Test func theFirstProgramStartsTheHostAndTheNextOneAfterItsEnd() throws {
        let lines = try lines(
            """
            start
            ls "$XDG_RUNTIME_DIR/tokenkit" | xargs
            state tokenkit.service
            process=$(tokenctl host status --json | jq .process)
            state tokenkit.service
            [ "$process" = "$(main)" ] && echo same
            ! tokenctl host stop 2>/dev/null
            systemctl --user stop tokenkit.service
            eventually '[ "$(state tokenkit.service)" = inactive ]'
            systemctl --user show --value -p Result tokenkit.service
            ssh-add -L | wc -l
            [ "$(main)" != "$process" ] && echo another
            kill -KILL "$(main)"
            eventually '[ "$(state tokenkit.service)" = failed ]'
            tokenctl host status >/dev/null
            state tokenkit.service
            systemctl --user stop tokenkit.socket
            eventually '[ "$(state tokenkit.service)" = inactive ]'
            """)
        #expect(
            lines == [
                "host remote ssh.sock", "inactive", "active", "same", "success", "1", "another", "active",
            ])
    }

    /// What the service may not do is nothing that cards, questions and the modules of others need.
    @Test func aProgramSignsOverEachSocket() throws {
        let module = ConsumerCard.module
        let sign = "pkcs11-tool --module '\(module)' --sign --id 01 -m ECDSA -i digest -o"
        let lines = try lines(
            """
            start
            cd "$HOME"
            head -c 32 /dev/zero >digest
            tokenctl sign --key 9A -o signature "\(card.path("message"))" && test -s signature && echo signed
            \(sign) second >/dev/null 2>&1 && test -s second && echo signed
            ssh-add -L >key.pub
            ssh-keygen -Y sign -n file -f key.pub digest 2>/dev/null && test -s digest.sig && echo signed
            ln -s remote "$XDG_RUNTIME_DIR/tokenkit/forwarded"
            pkcs11-tool --module '\(module)' --list-objects --type cert 2>/dev/null | grep -c 'Certificate Object'
            """)
        #expect(lines == ["signed", "signed", "signed", "1"])
        #expect(try card.pinentryQuestions.count == 1)
    }

    @Test func theHostHasTheLimitsOfItsUnit() throws {
        let lines = try lines(
            """
            start
            tokenctl host status >/dev/null
            awk '/^(NoNewPrivs|Seccomp):/ { print $1, $2 }' "/proc/$(main)/status"
            awk '/^Max (core file size|open files)/ { print $1, $2, $(NF - 1) }' "/proc/$(main)/limits"
            """)
        #expect(
            lines == ["NoNewPrivs: 1", "Seccomp: 2", "Max core 0", "Max open 16384"])
    }
}
