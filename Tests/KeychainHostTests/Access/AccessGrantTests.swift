import Foundation
import Glibc
import HostAPI
import KeychainModel
import Platform
import TestSupport
import Testing

@testable import KeychainHost

/// What one run of a program may do without a question: it gave the password, or made the item.
@Suite struct AccessGrantTests {
    private let decisions = AccessDecisions()
    private let item = AccessItem(key: "1", name: "mail", in: "login")
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A shell, and a program that it has started.
    private final class Shell {
        private let shell: ChildProcess
        private(set) var programs: [AskingProgram] = []
        private let folder: TemporaryFolder
        private let program: String

        /// - Parameter program: the name of the program's file.
        init(starting program: String, in folder: TemporaryFolder, sessions: Bool = false) throws {
            (self.folder, self.program) = (folder, folder.path(program))
            let copied = try Program.run([
                "sh", "-c", "cp \"$(command -v sleep)\" \"$0.new\" && mv \"$0.new\" \"$0\"", self.program,
            ])
            try #require(copied.status == 0)
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            defer { close(null) }
            let numbers = folder.path("numbers-\(UInt64.random(in: 0 ... .max))")
            let start = sessions ? "setsid \"$0\" 600" : "\"$0\" 600"
            shell = try ChildProcess(
                [
                    "sh", "-c", "for i in 1 2; do \(start) & echo $! >>\"$1.new\"; done; mv \"$1.new\" \"$1\"; wait",
                    self.program, numbers,
                ],
                streams: [null, null, null])
            try #require(eventually { access(numbers, R_OK) == 0 })
            for line in try String(contentsOfFile: numbers, encoding: .utf8).split(separator: "\n") {
                let process = try #require(Int32(line))
                try #require(eventually { Executable.name(of: process) == program })
                programs.append(AskingProgram(ProcessHandle(process), user: geteuid() == 0 ? 65_534 : geteuid()))
                numbersOfProcesses.append(process)
            }
        }

        private var numbersOfProcesses: [Int32] = []

        deinit {
            for process in numbersOfProcesses + [shell.identifier] { kill(process, SIGKILL) }
            shell.wait()
        }
    }

    private func isAllowed(_ program: AskingProgram, _ use: AccessQuestion.Use = .read, _ item: AccessItem? = nil)
        -> Bool
    {
        (try? decisions.require(use, of: item ?? self.item, by: program, asking: NoPrompter())) != nil
    }

    @Test func aProgramThatGaveThePasswordIsAllowedAllOfThatPlace() throws {
        let shell = try Shell(starting: "mailer", in: folder)
        decisions.noteGiven(for: "login", by: shell.programs[0])
        #expect(isAllowed(shell.programs[0]))
        #expect(isAllowed(shell.programs[0], .export, AccessItem(key: "2", name: "key", in: "login")))
        #expect(!isAllowed(shell.programs[0], .read, AccessItem(key: "3", name: "mail", in: "work")))
        #expect(!isAllowed(shell.programs[1]), "another process of the same program")
    }

    @Test func aProgramIsAllowedAllUsesOfWhatItMade() throws {
        let shell = try Shell(starting: "mailer", in: folder)
        decisions.noteCreated(item, by: shell.programs[0])
        for use in AccessQuestion.Use.allCases { #expect(isAllowed(shell.programs[1], use), "\(use)") }
        #expect(!isAllowed(shell.programs[0], .read, AccessItem(key: "2", name: "other", in: "login")))
    }

    // MARK: The command

    @Test func theCommandCountsAsWhatStartedIt() throws {
        let (shell, other) = (try Shell(starting: "tokenctl", in: folder), try Shell(starting: "tokenctl", in: folder))
        decisions.noteGiven(for: "login", by: shell.programs[0])
        #expect(isAllowed(shell.programs[0]) && isAllowed(shell.programs[1]))
        #expect(!isAllowed(other.programs[0]))
        let made = AccessItem(key: "2", name: "made", in: "work")
        decisions.noteCreated(made, by: other.programs[0])
        #expect(isAllowed(other.programs[1], .read, made))
        #expect(!isAllowed(shell.programs[0], .read, made))
    }

    /// Else whoever starts the command would have what it was once allowed.
    @Test func whatTheCommandIsAlwaysAllowedHoldsForItsStarter() throws {
        let (shell, other) = (try Shell(starting: "tokenctl", in: folder), try Shell(starting: "tokenctl", in: folder))
        let person = Decides(.allowAlways)
        try decisions.require(.read, of: item, by: shell.programs[0], asking: person)
        #expect(person.questions.first?.offersAlways == true)
        let sh = URL(filePath: "/bin/sh").resolvingSymlinksInPath().lastPathComponent
        #expect(person.questions.first?.program.starter == sh)
        #expect(isAllowed(shell.programs[1]))
        #expect(!isAllowed(shell.programs[1], .export))
        #expect(!isAllowed(other.programs[0]))
    }

    /// A program that hides its starter gets nothing of the starter's.
    @Test func aCommandInASessionOfItsOwnCountsAsItself() throws {
        let shell = try Shell(starting: "tokenctl", in: folder, sessions: true)
        decisions.noteGiven(for: "login", by: shell.programs[0])
        #expect(isAllowed(shell.programs[0]))
        #expect(!isAllowed(shell.programs[1]))
    }
}
