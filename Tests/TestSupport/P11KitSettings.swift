import Foundation

/// A configuration of p11-kit with one module, for the run of a command.
public enum P11KitSettings {
    /// The command that runs another one with a p11-kit that knows only one module.
    ///
    /// - Parameters:
    ///   - name: p11-kit's name of the module.
    ///   - configuration: the text of the module's file.
    ///   - folder: the folder for the file; its `home` is the home of the command.
    public static func command(
        _ command: [String], knowing name: String, _ configuration: String, in folder: String
    ) -> [String] {
        let modules = folder + (getuid() == 0 ? "/modules" : "/home/.config/pkcs11/modules")
        let manager = FileManager.default
        try? manager.createDirectory(atPath: modules, withIntermediateDirectories: true)
        try? Data((configuration + "\n").utf8).write(to: URL(filePath: "\(modules)/\(name).module"))
        guard getuid() == 0 else {
            let settings = folder + "/home/.config/pkcs11/pkcs11.conf"
            try? Data("user-config: only\n".utf8).write(to: URL(filePath: settings))
            return ["env", "HOME=\(folder)/home"] + command
        }
        // p11-kit does not read root's own configuration; the system's is covered, for this command only.
        let cover = "mount --bind \"$0\" /usr/share/p11-kit/modules && exec \"$@\""
        return ["unshare", "--mount", "sh", "-c", cover, modules] + command
    }
}
