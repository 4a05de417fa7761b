internal import Platform
internal import Synchronization

/// The machines that SSH clients are connected to. A client proves that once, before it logs in (`session-bind@openssh.com`), and goes on
/// without its connection to the agent.
final class ConnectedMachines: Sendable {
    private struct Entry {
        let run: ProgramRun
        let machine: SessionBinds.Bind
    }

    private let entries = Mutex<[Entry]>([])

    /// Clients that are known at a time. Beyond them, the one that logged in first is forgotten.
    private static let maximumCount = 256

    /// Notes the machine that a process has proved to be connected to. Its first proof counts: later ones may come from that machine, by
    /// an agent that is forwarded.
    func note(_ machine: SessionBinds.Bind, of process: Int32) {
        guard let run = ProgramRun(of: process) else { return }
        entries.withLock { entries in
            guard !entries.contains(where: { $0.run == run }) else { return }
            entries.removeAll { $0.run.process == process }
            entries.append(Entry(run: run, machine: machine))
            if entries.count > ConnectedMachines.maximumCount { entries.removeFirst() }
        }
    }

    /// - Returns: nil where the process, or the program that it runs, is another one by now.
    func machine(of process: Int32) -> SessionBinds.Bind? {
        guard let entry = entries.withLock({ $0.first { $0.run.process == process } }),
            ProgramRun(of: process) == entry.run
        else { return nil }
        return entry.machine
    }
}
