import Foundation
import HostAPI
import KeychainModel
import SecureBytes
import TestSupport
import Testing

@testable import tokenctl

@Suite struct SecretSourceTests {
    private let folder: TemporaryFolder
    private let request = PromptRequest(.pin, subject: "card")

    init() throws {
        folder = try TemporaryFolder()
    }

    private func file(_ text: String, mode: Int = 0o600) throws -> String {
        let path = try folder.write("pin", text)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func answers(_ source: SecretSource, _ count: Int) throws -> [String] {
        try (0..<count).map { _ in String(decoding: try source.ask(request).copied(), as: UTF8.self) }
    }

    /// Answers to questions for secrets other than the keychain's.
    private func others(_ source: SecretSource, _ count: Int) throws -> [String] {
        try (0..<count).map { _ in String(decoding: try source.askForAnother(request).copied(), as: UTF8.self) }
    }

    @Test(arguments: [
        ("123456\n654321\n", ["123456", "654321"]), ("123456", ["123456"]), ("123456\n\n7\n", ["123456", "", "7"]),
        ("\n", [""]), (" a b \n", [" a b "]), ("123456\r\n\r\n7\r8\r\r\n", ["123456", "", "7\r8\r"]), ("\r", ["\r"]),
    ])
    func aFileAnswersLineByLine(text: String, lines: [String]) throws {
        let source = try SecretSource("file:\(file(text))")
        #expect(try answers(source, lines.count) == lines)
        let error = #expect(throws: KeychainError(.interactionNotAllowed)) { _ = try source.ask(request).count }
        #expect(error?.reason.contains("has no line") == true)
    }

    /// The second line is stored, whether or not the keychain needed the first one.
    @Test(arguments: [true, false]) func theFirstLineIsTheKeychains(isTaken: Bool) throws {
        let source = try SecretSource("file:\(file("password\nsecret\nmore\n"))")
        if isTaken { #expect(try answers(source, 1) == ["password"]) }
        #expect(try others(source, 1) == ["secret"])
        // Only the first line is left out, and only once.
        #expect(try others(source, 1) == ["more"])
    }

    /// A file's passphrase is asked for before it is known whether the keychain has to be unlocked.
    @Test func theFirstLineIsKeptForAKeychainThatAsksLater() throws {
        let source = try SecretSource("file:\(file("password\nsecret\nother\nmore\n"))")
        #expect(try others(source, 2) == ["secret", "other"])
        #expect(try answers(source, 2) == ["password", "more"])
        #expect(throws: KeychainError(.interactionNotAllowed)) { try others(source, 1) }
    }

    @Test func aLineThatTheKeychainTookIsNotKept() throws {
        let source = try SecretSource("file:\(file("password\nsecret\nmore\n"))")
        #expect(try answers(source, 1) == ["password"])
        #expect(try others(source, 1) == ["secret"])
        #expect(try answers(source, 1) == ["more"])
    }

    @Test(arguments: [("password\n", 1), ("", 0)]) func whereThereIsOnlyTheKeychainsLineNothingIsStored(
        text: String, lines: Int
    ) throws {
        let source = try SecretSource("file:\(file(text))")
        #expect(throws: KeychainError(.interactionNotAllowed)) { try others(source, 1) }
        if lines == 1 { #expect(try answers(source, 1) == ["password"]) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { try answers(source, 1) }
    }

    @Test func theFirstLineOfTheEnvironmentIsLeftToo() throws {
        let name = "TOKENKIT_TEST_\(UInt64.random(in: 1...UInt64.max))"
        setenv(name, "password\nsecret", 1)
        defer { unsetenv(name) }
        let source = try SecretSource("env:\(name)")
        #expect(try others(source, 1) == ["secret"])
    }

    @Test func aScriptIsAskedButNotAgain() throws {
        let source = try SecretSource("file:\(file("1\n"))")
        #expect(source.canAsk)
        #expect(!source.canAskAgain)
        // A "y" in the file is a PIN, not leave to spend the last try.
        #expect(try !source.confirm("Really?"))
        #expect(try answers(source, 1) == ["1"])
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o666, 0o644]) func aFileThatOthersMayReadIsRefused(mode: Int) throws {
        let path = try file("123456\n", mode: mode)
        let error = #expect(throws: KeychainError(.param)) { try SecretSource("file:\(path)") }
        #expect(error?.remedy?.hasPrefix("chmod 600") == true)
        #expect(error?.reason.contains("123456") == false)
    }

    @Test(arguments: [
        "", "123456", "fd", "fd:", "fd:x", "fd:-1", "fd:99999", "file:", "file:/nowhere/pin", "env:", "pass:1",
        "env:NO_SUCH_VARIABLE",
    ])
    func anotherFormIsRefused(text: String) {
        #expect(throws: KeychainError(.param)) { try SecretSource(text) }
    }

    @Test func aLineHasALimit() throws {
        let longest = String(repeating: "1", count: Limits.secret)
        let source = try SecretSource("file:\(file("\(longest)\n\(longest)2\n3\n"))")
        #expect(try answers(source, 1) == [longest])
        #expect(throws: KeychainError(.dataTooLarge)) { _ = try source.ask(request).count }
    }

    @Test func aDescriptorGivesOneLineAQuestionAndNoByteMore() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let text = Array("123456\nrest of the input".utf8)
        #expect(write(ends[1], text, text.count) == text.count)
        close(ends[1])
        let source = try SecretSource("fd:\(ends[0])")
        #expect(try answers(source, 1) == ["123456"])
        var rest = [UInt8](repeating: 0, count: 100)
        let count = read(ends[0], &rest, rest.count)
        #expect(String(decoding: rest.prefix(count), as: UTF8.self) == "rest of the input")
        #expect(throws: KeychainError(.interactionNotAllowed)) { _ = try source.ask(request).count }
    }

    @Test(arguments: [
        ("123456", ["123456"]), ("1\n22\n", ["1", "22"]), ("1\n\n3", ["1", "", "3"]), ("", [""]),
        (String(repeating: "1", count: 4097), [String(repeating: "1", count: 4097)]),
    ])
    func aVariableAnswersLineByLine(value: String, lines: [String]) throws {
        let name = "TOKENKIT_TEST_\(UInt64.random(in: 1...UInt64.max))"
        setenv(name, value, 1)
        defer { unsetenv(name) }
        let source = try SecretSource("env:\(name)")
        #expect(try answers(source, lines.count) == lines)
        #expect(throws: KeychainError(.interactionNotAllowed)) { _ = try source.ask(request).count }
    }

    @Test func aDescriptorAgreesToNothing() throws {
        let descriptor = open(try file("11\ny\n"), O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let source = try SecretSource("fd:\(descriptor)")
        #expect(try answers(source, 2) == ["11", "y"])
        #expect(try !source.confirm("Really?"))
    }

    /// The reader's keypad is not used where a script has the answer.
    @Test func noPersonTypesOnTheReader() throws {
        #expect(try !SecretSource("fd:0").allowsPINPad)
    }

    @Test func manyQuestionsAtOnceShareNoLine() async throws {
        let lines = (0..<64).map { "line \($0)" }
        let source = try SecretSource("file:\(file(lines.joined(separator: "\n")))")
        let request = request
        let found = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in lines {
                group.addTask { String(decoding: try source.ask(request).copied(), as: UTF8.self) }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(found == Set(lines))
    }
}
