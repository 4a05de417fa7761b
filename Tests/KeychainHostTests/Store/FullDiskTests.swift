import Foundation
import TestSupport
import Testing

@testable import KeychainHost

/// A keychain on a file system of its own that is soon full, or read-only.
@Suite struct FullDiskTests {
    /// Runs a script in a mount namespace, in a tmpfs of this size. `$1` is KeychainWriter.
    private func run(_ script: String, kibibytes: Int) throws -> [String] {
        let folder = try TemporaryFolder()
        let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        let script = "mount -t tmpfs -o size=\(kibibytes)k,mode=700 tmpfs \"$0\" && cd \"$0\" && exec 2>&1\n\(script)"
        let result = try Program.run(
            ["unshare"] + user + ["--mount", "bash", "-c", script, folder.path, WriterProcess.executable.path],
            environment: [
                "HOME": folder.path, "XDG_DATA_HOME": folder.path("data"), "XDG_CONFIG_HOME": folder.path("config"),
                "XDG_RUNTIME_DIR": folder.path, "XDG_CACHE_HOME": folder.path("cache"), "TOKENKIT_MODULES": "",
                "PCSCLITE_CSOCK_NAME": folder.path("none"),
                "PATH": Program.products + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
            ],
            input: Array("correct\n".utf8))
        return result.text.split(separator: "\n").map(String.init)
    }

    private func fill(kibibytes: Int) throws -> [String] {
        try run("exec \"$1\" fill k", kibibytes: kibibytes)
    }

    @Test(arguments: [600, 1000, 1512])
    func aFullDiskIsReportedAndTheStoreIsAsItWas(kibibytes: Int) throws {
        let lines = try fill(kibibytes: kibibytes)
        try #require(lines.count >= 2, "\(lines)")
        #expect(lines[0].hasSuffix("[errSecDiskFull -34]"))
        let numbers = lines[1].split { !$0.isNumber }.compactMap { Int($0) }
        try #require(numbers.count == 4, "\(lines)")
        #expect(numbers[0] > 0)
        #expect(numbers[0] == numbers[1] && numbers[0] == numbers[2] && numbers[3] == 0, "\(lines[1])")
    }

    @Test func aDiskWithoutRoomForAKeychainGetsNone() throws {
        let lines = try fill(kibibytes: 16)
        #expect(lines.count == 1)
        #expect(lines.first?.contains("errSecDiskFull -34") == true, "\(lines)")
    }

    @Test func onAFullDiskAKeychainIsOpenedAndReadAndChangesAreRefused() throws {
        let lines = try run("exec \"$1\" full k", kibibytes: 600)
        try #require(lines.count == 10, "\(lines)")
        #expect(lines[0] == "read 2, read-only false")
        for (line, name) in zip(lines[1...], ["add", "update", "delete", "settings", "password", "unbind"]) {
            #expect(line == "\(name): the disk is full (free some space and try again) [errSecDiskFull -34]")
        }
        #expect(lines[7] == "read 2")
        // The keychain, opened on the full disk, sees an item that another opening adds once there is room.
        #expect(lines[8...] == ["with room, read 3", "added, read 4, 4"])
    }

    /// Makes a keychain and a file with its password, and defines `fill`, which fills the disk.
    private let keychainOnFullDisk = """
        printf 'correct\n' >p; printf 'correct\nhunter2\n' >both; chmod 600 p both
        tokenctl create-keychain --pin-source file:p ./k >/dev/null
        tokenctl add-generic-password -a joe -s mail --pin-source file:both ./k
        fill() { cat /dev/zero >filler 2>/dev/null; }
        """

    @Test func aCommandReadsAKeychainOnAFullDisk() throws {
        let lines = try run(
            keychainOnFullDisk + """

                fill
                tokenctl find-generic-password -a joe -w --pin-source file:p ./k
                tokenctl add-generic-password -a ann -s mail --pin-source file:both ./k; echo $?
                tokenctl delete-generic-password -a joe ./k; echo $?
                rm filler
                tokenctl add-generic-password -a ann -s mail --pin-source file:both ./k; echo $?
                tokenctl dump-keychain ./k | grep -c acct
                """, kibibytes: 600)
        let refusal = "tokenctl: the disk is full (free some space and try again) [errSecDiskFull -34]"
        #expect(lines == ["hunter2", refusal, "222", refusal, "222", "0", "2"])
    }

    /// Leaves a change in the log beside the keychain, as a program that crashed does.
    private let change = """

        sqlite3 k "PRAGMA wal_autocheckpoint = 0; $SQL" ".shell $COMMAND; mkdir left; cp k k-wal left" >/dev/null
        rm k*; mv left/* .; chmod 600 k*
        """

    @Test func whatACrashedProgramLeftIsReadOnAFullDisk() throws {
        let lines = try run(
            keychainOnFullDisk + """

                SQL='SELECT id FROM genp'; COMMAND='tokenctl set-keychain-settings -ut 77 --pin-source file:p ./k'
                """ + change + """

                    fill; test -s k-wal && echo left
                    tokenctl show-keychain-info ./k --json | jq .lockInterval
                    tokenctl find-generic-password -a joe -w --pin-source file:p ./k
                    """, kibibytes: 600)
        #expect(lines == ["left", "77", "hunter2"])
    }

    @Test func whatACrashedProgramLeftIsNotPassedOverWhereItDoesNotFit() throws {
        let lines = try run(
            keychainOnFullDisk
                + "\nSQL='INSERT INTO journal (kind, item, pid) VALUES (9, zeroblob(200000), 1)' COMMAND=true" + change
                    + """

                    fill; test -s k-wal && echo left
                    tokenctl find-generic-password -a joe -w --pin-source file:p ./k
                    rm filler
                    tokenctl find-generic-password -a joe -w --pin-source file:p ./k
                    """, kibibytes: 900)
        #expect(lines.count == 3)
        #expect(lines.first == "left")
        #expect(
            lines.dropFirst().first?.hasSuffix("/k (free some space and try again) [errSecDiskFull -34]") == true,
            "\(lines)")
        #expect(lines.last == "hunter2")
    }

    @Test func aKeychainMarkedReadOnlyIsReadOnAFullDisk() throws {
        let lines = try run(
            keychainOnFullDisk + """

                chmod 400 k; fill
                tokenctl find-generic-password -a joe -w --pin-source file:p ./k
                tokenctl delete-generic-password -a joe ./k
                """, kibibytes: 600)
        #expect(lines.first == "hunter2")
        #expect(lines.last?.hasSuffix("[errSecReadOnly -25292]") == true, "\(lines)")
    }

    @Test func aKeychainOnAReadOnlyMediumIsReadAndRestored() throws {
        let lines = try run(
            keychainOnFullDisk + """

                mkdir -m 700 medium; mount -t tmpfs -o mode=700 tmpfs medium; cp k medium/copy; mount -o remount,bind,ro medium
                tokenctl find-generic-password -a joe -w --pin-source file:p medium/copy
                tokenctl delete-generic-password -a joe medium/copy
                tokenctl restore-keychain medium/copy ./back --pin-source file:p >/dev/null
                tokenctl find-generic-password -a joe -w --pin-source file:p ./back
                ls medium k*
                """, kibibytes: 4000)
        try #require(lines.count > 3, "\(lines)")
        #expect(lines[0] == "hunter2")
        #expect(lines[1].hasSuffix("[errSecReadOnly -25292]"), "\(lines)")
        #expect(lines[2...] == ["hunter2", "k", "medium:", "copy"])
    }
}
