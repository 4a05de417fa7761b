import Foundation
import TestSupport
import Testing

@testable import KeychainHost

/// A keychain on a file system of its own that is soon full.
@Suite struct FullDiskTests {
    /// Runs `KeychainWriter fill` in a mount namespace, with a tmpfs of so many kibibytes.
    private func fill(kibibytes: Int) throws -> [String] {
        let folder = try TemporaryFolder()
        let user = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        let script = "mount -t tmpfs -o size=\(kibibytes)k,mode=700 tmpfs \"$1\" && exec \"$2\" fill \"$1/k\""
        let result = try Program.run(
            ["unshare"] + user + ["--mount", "sh", "-c", script, "sh", folder.path, WriterProcess.executable.path],
            input: Array("correct\n".utf8))
        return result.text.split(separator: "\n").map(String.init)
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
}
