internal import HostAPI
internal import Platform

extension AccessQuestion.Program {
    init(_ identity: ProgramIdentity) {
        self.init(
            name: identity.name, path: identity.path, script: identity.script, container: identity.container?.words,
            starter: identity.starter)
    }
}

extension ProgramContainer {
    var words: String {
        switch self {
        case .flatpak(let id): "a sandbox that calls itself Flatpak's \(id)"
        case .snap(let name): "a sandbox that calls itself the snap \(name)"
        case .other: "a container with files of its own"
        }
    }
}
