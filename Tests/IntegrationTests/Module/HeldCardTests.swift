import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module and the command while their card is in use.
@Suite struct HeldCardTests {
    @Test func whatIsKnownIsToldAndALoginEndsWhileAnotherProgramHoldsTheCardOrSomebodyIsToTouchIt() throws {
        let folder = try TemporaryFolder()
        var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
        builder.keys[.authentication]?.touchPolicy = .always
        let card = try builder.build()
        let holder = try DaemonWithCard(card)
        let program = try ModuleProgram.compile("held", ["-I/usr/include/PCSC", "-lpcsclite"], in: folder)
        let log = folder.path("log")
        let result = try ModuleProgram.run(
            program, in: folder, service: holder.daemon.socketPath, ["TOKENKIT_DEBUG": log]
        ) {
            wish in
            guard wish == "await" else { return card.touch() }
            #expect(eventually { card.awaitsTouch })
        }
        #expect(result.status == 0, "\(result)")
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        let reasons = lines.filter { $0.contains("the card was not locked, which is done as soon as the card is free") }
        #expect(reasons.count == 5)
        #expect(reasons.allSatisfy { $0.contains("another program holds the card") })
    }

    /// Each listing reports the card once, although OpenSC's module, which p11-kit's configuration has, would wait for it as
    /// well. A second card that can be listed does not make the list complete.
    @Test(arguments: [true, false])
    func aListingWithoutTheCardThatAnotherProgramHoldsSaysSoAndIsAnError(isTheOnlyOne: Bool) throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let daemon = holder.daemon
        var builder = VirtualCardBuilder(profile: .generic, fourKeys: .p256)
        builder.serialNumber = 4711
        let other = try VPCDLink(card: builder.build(), connecting: { try? daemon.connectCard(reader: 1) })
        Thread.detachNewThread { try? other.run() }
        defer { other.stop() }
        if !isTheOnlyOne {
            other.insert()
            try #require(eventually { try holder.run(["opensc-tool", "--reader", "1", "--atr"]).status == 0 })
        }
        let program = try ModuleProgram.compile("hold", ["-I/usr/include/PCSC", "-lpcsclite"], in: folder)
        let listings = ["find-identity", "find-key", "find-certificate -a", "list-keychains", "list-smartcards"]
        var environment = ModuleProgram.environment(in: folder).merging(holder.daemon.environment) { $1 }
        environment["TOKENCTL"] = Program.command
        let script = """
            cd '\(folder.path)'; mkfifo end; '\(program)' <end & exec 3>end
            until [ -e held ]; do sleep 0.05; done
            list() { "$TOKENCTL" $1 >/dev/null 2>"$2.errors"; echo "$1: $? $(grep -c 'holds the card' "$2.errors")"; }
            number=0
            for listing in \(listings.map { "'\($0)'" }.joined(separator: " ")); do
                number=$((number + 1)); list "$listing" $number 3>&- & lists="$lists $!"
            done
            wait $lists
            """
        let result = try Program.run(["sh", "-c", script], environment: environment, timeout: 300)
        #expect(Set(result.text.split(separator: "\n")) == Set(listings.map { "\($0): 53 1" }))
    }

    /// The card is in, and may be the one that is meant: "insert the card" or "the password is wrong" would mislead.
    @Test func aCardThatAnotherProgramHoldsIsTheReasonForWhateverNamesItOrIsBoundToIt() throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        let program = try ModuleProgram.compile("hold", ["-I/usr/include/PCSC", "-lpcsclite"], in: folder)
        var environment = ModuleProgram.environment(in: folder).merging(holder.daemon.environment) { $1 }
        environment["TOKENCTL"] = Program.command
        let script = """
            cd '\(folder.path)'; mkfifo end; echo 123456 >pin; echo password >password; cat password pin >both; chmod 600 pin password both
            { "$TOKENCTL" create-keychain --pin-source file:password login
            "$TOKENCTL" bind-keychain --pin-source file:both login
            openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out mine.pem -subj /CN=mine
            "$TOKENCTL" import mine.pem -k login --pin-source file:password
            "$TOKENCTL" find-certificate -a; } >begun 2>&1 || cat begun
            id=$("$TOKENCTL" list-smartcards --json | jq -r '.[0].token') uri=$("$TOKENCTL" list-smartcards --uri)
            '\(program)' <end & exec 3>end
            until [ -e held ]; do sleep 0.05; done
            number=0
            try() {
                number=$((number + 1))
                { "$TOKENCTL" "$@" >/dev/null 2>$number.errors
                echo "$1: $? $(grep -o 'holds the card' $number.errors | wc -l) $(grep -cE 'insert|wrong' $number.errors)"; } 3>&- &
                lists="$lists $!"
            }
            try set-keychain-settings -t 60 --pin-source file:pin login
            try sign -k "$uri;id=%01;type=private" --pin-source file:pin -o signature pin
            try item class=keys "tkid=$id"
            try show-keychain-info "$id"
            try lock-keychain "$id"
            try lock-keychain -a
            try export-smartcard -i "$id"
            try dump-keychain "$id"
            try item class=idnt
            try item class=cert
            try export -t certs -o certificates
            wait $lists
            echo "$(openssl x509 -in certificates -noout -subject)"
            """
        let result = try Program.run(["sh", "-c", script], environment: environment, timeout: 300)
        let commands = [
            "set-keychain-settings", "sign", "item", "show-keychain-info", "lock-keychain", "export-smartcard",
            "dump-keychain", "export",
        ]
        let lines = commands.map { "\($0): 53 1 0" } + ["subject=CN = mine"]
        #expect(Set(result.text.split(separator: "\n").map(String.init)) == Set(lines), "\(result)")
    }

    /// The service waits for the card's answer, and the host for the service's, each without a limit of its own.
    @Test(arguments: [
        (["pkcs11-tool", "--module", ModuleProgram.module, "--list-objects"], "CKR_DEVICE_ERROR"),
        ([Program.command, "find-identity"], "has not answered for 60 seconds"),
    ])
    func aCardThatFellSilentHoldsNoProgramWithoutEnd(program: [String], message: String) throws {
        let folder = try TemporaryFolder()
        let daemon = try PrivatePCSCD()
        let card = ScriptedCard(socket: try daemon.connectCard()) { [0x6A, 0x82] + $0.prefix(0) }
        defer { card.remove() }
        try #require(eventually { try daemon.run(["opensc-tool", "--reader", "0", "--atr"]).status == 0 })
        card.fallSilent()
        let environment = ModuleProgram.environment(in: folder).merging(daemon.environment) { $1 }
        let result = try Program.run(program, environment: environment, timeout: 300)
        #expect(result.status != 0 && result.description.contains(message), "\(result)")
    }
}
